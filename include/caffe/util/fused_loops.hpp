#ifndef CAFFE_UTIL_FUSED_LOOPS_HPP_
#define CAFFE_UTIL_FUSED_LOOPS_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caffe {

/// Work on a GPU that a thread has deferred: it is done before a kernel is launched, and before
/// anybody is given a blob's address for anything else. The innermost object of a thread counts.
/// Not thread safe.
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

 protected:
  DeferredWork() : outer_(current_) { current_ = this; }
  ~DeferredWork() { current_ = outer_; }

 private:
  static thread_local DeferredWork* current_;
  DeferredWork* const outer_;
};

/// Loop fusion: loops of the CPU that would run one after the other, each over whole arrays, are
/// put off and then run tile by tile, so that what one writes the next finds in the cache. Each
/// value comes from the same loop body as ever: the bits are the same.
///
/// The arrays are outer x channels x inner, a tile some channels. A loop fuses if it has as many
/// iterations as there are values, rows (outer x channels) or channels. Each must touch its own
/// value, row or channel alone; those of values and rows may read what there is one of for a
/// channel. Not thread safe.
class FusedLoops {
 public:
  struct Shape {
    int64_t outer = 0, channels = 0, inner = 0;
    bool operator==(const Shape& other) const {
      return outer == other.outer && channels == other.channels && inner == other.inner;
    }
  };
  using Chunk = void (*)(const void* body, int64_t begin, int64_t end);

  /// While it lives, loops of the calling thread that fuse are put off into `loops`, which must
  /// hold none of arrays of another shape; null: they run at once.
  class Scope {
   public:
    Scope(FusedLoops* loops, const Shape& shape);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    FusedLoops* const outer_;
  };
  /// While it lives, blobs are asked for addresses that go to loops, which may be put off. Who
  /// else asks a blob for an address reads or writes it at once: what was put off is finished.
  class Operands {
   public:
    Operands() { ++operands_; }
    ~Operands() { --operands_; }
    Operands(const Operands&) = delete;
    Operands& operator=(const Operands&) = delete;
  };
  /// False: nothing is put off from now on.
  static void Enable(bool enabled);
  /// To be called before a loop that does not fuse, and before values are touched.
  /// DeferredWork is finished with them.
  static void FinishCurrent() {
    if (operands_ > 0) return;
    if (current_ != nullptr) current_->Finish();
    DeferredWork::FinishCurrent();
  }

  FusedLoops() = default;
  FusedLoops(const FusedLoops&) = delete;
  FusedLoops& operator=(const FusedLoops&) = delete;

  /// Puts chunk(body, begin, end) for all of [0, n) off, on several threads if `parallel`, where a
  /// Scope says so and the loop fuses; keeps a copy of the body, which must be trivially copyable.
  /// False: the caller is to run it; all before it have been finished.
  static bool PutOff(int64_t n, bool parallel, const void* body, size_t bytes, Chunk chunk) {
    return current_ != nullptr && current_->Add(n, parallel, body, bytes, chunk);
  }
  /// Runs what was put off: loop by loop where there are fewer channels than threads.
  void Finish();
  /// That of the last Scope.
  const Shape& shape() const { return shape_; }
  /// How many loops have run tile by tile with others.
  int64_t fused() const { return fused_; }

 private:
  struct Entry {
    int64_t n;
    bool parallel;
    size_t body;  ///< where in bodies_
    Chunk chunk;
  };
  bool Add(int64_t n, bool parallel, const void* body, size_t bytes, Chunk chunk);
  void RunChannels(int64_t begin, int64_t end) const;

  static thread_local FusedLoops* current_;
  static thread_local int operands_;
  Shape shape_;
  std::vector<Entry> loops_;
  std::vector<std::max_align_t> bodies_;
  int64_t fused_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_FUSED_LOOPS_HPP_
