#ifndef CAFFE_UTIL_DEFERRED_WORK_HPP_
#define CAFFE_UTIL_DEFERRED_WORK_HPP_

namespace caffe {

/// Work that a thread has deferred (kernels::UpdateBatch). It is done before the thread runs any
/// other kernel, and before the thread gets a blob's address for anything but a kernel. Only the
/// innermost object of a thread is active. Not thread safe.
class DeferredWork {
 public:
  DeferredWork(const DeferredWork&) = delete;
  DeferredWork& operator=(const DeferredWork&) = delete;

  /// Does the deferred work, if any.
  virtual void Finish() = 0;

  static DeferredWork* Current() { return current_; }
  static void FinishCurrent() {
    if (current_ != nullptr) current_->Finish();
  }

  /// While an object exists, the calling thread requests blob addresses for kernels, which either
  /// finish the deferred work or join it. Requests for the other side of memory, and those without
  /// this object, finish the work at once.
  class Operands {
   public:
    Operands() { ++count_; }
    ~Operands() { --count_; }
    Operands(const Operands&) = delete;
    Operands& operator=(const Operands&) = delete;

   private:
    friend class DeferredWork;
    static thread_local int count_;
  };
  /// To be called before values on the GPU side, or the CPU side, are accessed.
  static void FinishBeforeAccess(bool gpu) {
    if (current_ != nullptr && (Operands::count_ == 0 || current_->gpu_ != gpu)) current_->Finish();
  }

 protected:
  DeferredWork() : outer_(current_) { current_ = this; }
  ~DeferredWork() { current_ = outer_; }

  bool gpu_ = false;  ///< the side of memory that the deferred work uses

 private:
  static thread_local DeferredWork* current_;
  DeferredWork* const outer_;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_DEFERRED_WORK_HPP_
