#include "caffe/kernels/launch.hpp"

#ifdef LAYRUB_LAUNCH_ON_HOST
#include <glog/logging.h>
#include <ucontext.h>

#include <barrier>
#include <mutex>
#include <thread>
#include <vector>

namespace caffe {
namespace kernels {

thread_local LaunchIndex threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr size_t kStack = 256 * 1024;

/// The threads of one block: contexts that take turns on the calling thread, in rounds. In each,
/// every one of them goes on to the next barrier or to its end.
class Fibers {
 public:
  /// Stacks are kept from launch to launch.
  void Resize(unsigned threads) {
    threads_ = threads;
    while (fibers_.size() < threads) {
      fibers_.emplace_back();
      fibers_.back().stack = std::make_unique<char[]>(kStack);
    }
  }

  void Run(const std::function<void()>& kernel) {
    kernel_ = &kernel;
    current_ = this;
    const unsigned count = threads_;
    for (unsigned i = 0; i < count; ++i) Begin(&fibers_[i]);
    for (unsigned done = 0; done < count;) {
      done = 0;
      for (unsigned i = count; i-- > 0;) {
        at_ = i;
        threadIdx.x = i;
        CHECK_EQ(swapcontext(&scheduler_, &fibers_[i].context), 0);
        done += fibers_[i].done;
      }
      CHECK(done == 0 || done == count)
          << "A kernel's barrier: " << done << " of " << count << " threads of block " << blockIdx.x
          << " have ended without coming to it.";
    }
    current_ = nullptr;
  }

  void Wait() { CHECK_EQ(swapcontext(&fibers_[at_].context, &scheduler_), 0); }
  static Fibers* Current() { return current_; }

 private:
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool done = false;
  };

  void Begin(Fiber* fiber) {
    CHECK_EQ(getcontext(&fiber->context), 0);
    fiber->context.uc_stack.ss_sp = fiber->stack.get();
    fiber->context.uc_stack.ss_size = kStack;
    fiber->context.uc_link = &scheduler_;
    fiber->done = false;
    makecontext(&fiber->context, &Fibers::Body, 0);
  }

  static void Body() {
    Fibers* const block = current_;
    (*block->kernel_)();
    block->fibers_[block->at_].done = true;
  }

  static thread_local Fibers* current_;
  std::vector<Fiber> fibers_;  ///< at least as many as the block has threads
  unsigned threads_ = 0;
  ucontext_t scheduler_;
  const std::function<void()>* kernel_ = nullptr;
  unsigned at_ = 0;
};

thread_local Fibers* Fibers::current_ = nullptr;

thread_local std::barrier<>* system_barrier = nullptr;

/// The same by threads of the system.
[[maybe_unused]] void RunOnSystemThreads(int threads, const std::function<void()>& kernel) {
  std::barrier barrier(threads);
  const LaunchIndex block = blockIdx, dim = blockDim, grid = gridDim;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      threadIdx.x = static_cast<unsigned>(i);
      blockIdx = block;
      blockDim = dim;
      gridDim = grid;
      system_barrier = &barrier;
      kernel();
      barrier.arrive_and_drop();
    });
  }
  for (std::thread& thread : all) thread.join();
}

}  // namespace

void __syncthreads() {
  if (system_barrier != nullptr) {
    system_barrier->arrive_and_wait();
    return;
  }
  CHECK(Fibers::Current() != nullptr)
      << "A kernel waits that was launched as one without barriers.";
  Fibers::Current()->Wait();
}

void LaunchOnHost(unsigned blocks, int threads, bool barriers,
                  const std::function<void()>& kernel) {
  // What the threads of a block share is static: one launch at a time has such memory.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  gridDim.x = blocks;
  blockDim.x = static_cast<unsigned>(threads);
#ifdef __SANITIZE_THREAD__
  const auto run_block = [&] { RunOnSystemThreads(threads, kernel); };
#else
  static Fibers fibers;
  if (barriers) fibers.Resize(blockDim.x);
  const auto run_block = [&] { fibers.Run(kernel); };
#endif
  for (unsigned block = blocks; block-- > 0;) {
    blockIdx.x = block;
    if (barriers) {
      run_block();
    } else {
      for (unsigned i = blockDim.x; i-- > 0;) {
        threadIdx.x = i;
        kernel();
      }
    }
  }
}

}  // namespace kernels
}  // namespace caffe
#endif
