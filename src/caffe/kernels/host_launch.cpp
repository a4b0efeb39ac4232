#include "caffe/kernels/launch.hpp"

#ifdef LAYRUB_LAUNCH_ON_HOST
#include <glog/logging.h>

#include <barrier>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace caffe {
namespace kernels {

thread_local LaunchIndex threadIdx, blockIdx, blockDim, gridDim;

namespace {

using boost::context::fiber;

/// While a thread of a block runs as a fiber: the fiber to resume when it waits or ends.
thread_local fiber launcher;

/// Runs the threads of one block as fibers on the calling thread, in rounds. In each round every
/// fiber continues to the next barrier or to its end.
[[maybe_unused]] void RunOnFibers(unsigned threads, const std::function<void()>& kernel) {
  static boost::context::pooled_fixedsize_stack stacks(256 * 1024);  // reused by later launches
  std::vector<fiber> fibers;
  for (unsigned i = 0; i < threads; ++i) {
    fibers.emplace_back(std::allocator_arg, stacks, [&kernel](fiber&& caller) {
      launcher = std::move(caller);
      kernel();
      return std::move(launcher);
    });
  }
  for (unsigned done = 0; done < threads;) {
    done = 0;
    for (unsigned i = threads; i-- > 0;) {
      threadIdx.x = i;
      fibers[i] = std::move(fibers[i]).resume();
      done += fibers[i] ? 0 : 1;
    }
    CHECK(done == 0 || done == threads)
        << "A kernel's barrier: " << done << " of " << threads << " threads of block " << blockIdx.x
        << " have ended without reaching it.";
  }
}

thread_local std::barrier<>* system_barrier = nullptr;

/// RunOnFibers, but with system threads.
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
  CHECK(launcher) << "A kernel that was launched without barriers waits at a barrier.";
  launcher = std::move(launcher).resume();
}

void LaunchOnHost(unsigned blocks, int threads, bool barriers,
                  const std::function<void()>& kernel) {
  // Shared memory is static, so only one launch may run at a time.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  gridDim.x = blocks;
  blockDim.x = static_cast<unsigned>(threads);
#ifdef __SANITIZE_THREAD__
  const auto run_block = [&] { RunOnSystemThreads(threads, kernel); };
#else
  const auto run_block = [&] { RunOnFibers(blockDim.x, kernel); };
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
