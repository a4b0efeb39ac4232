#ifndef CAFFE_UTIL_DEFERRED_WORK_HPP_
#define CAFFE_UTIL_DEFERRED_WORK_HPP_

namespace caffe {

/// Work that a thread has deferred (kernels::UpdateBatch): it is done before the thread runs any
/// other kernel, and before it is given a blob's address for anything but a kernel. The innermost
/// object of a thread counts. Not thread safe.
class DeferredWork {
 public:
  DeferredWork(const DeferredWork&) = delete;
  DeferredWork& operator=(const DeferredWork&) = delete;

  /// Does what is deferred, if anything is.
  virtual void Finish() = 0;

  static DeferredWork* Current() { return current_; }
  static void FinishCurrent() {
    if (current_ != nullptr) current_->Finish();
  }

  /// While it lives, the calling thread asks blobs for addresses that go to kernels, which finish
  /// what is deferred or join it. Requests for the other side of memory, and those of anybody else,
  /// finish it at once.
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
  /// To be called before values on the GPU's side, or the CPU's, are touched.
  static void FinishBeforeAccess(bool gpu) {
    if (current_ != nullptr && (Operands::count_ == 0 || current_->gpu_ != gpu)) current_->Finish();
  }

 protected:
  DeferredWork() : outer_(current_) { current_ = this; }
  ~DeferredWork() { current_ = outer_; }

  bool gpu_ = false;  ///< on which side of memory the deferred work is

 private:
  static thread_local DeferredWork* current_;
  DeferredWork* const outer_;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_DEFERRED_WORK_HPP_
