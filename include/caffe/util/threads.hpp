#ifndef CAFFE_UTIL_THREADS_HPP_
#define CAFFE_UTIL_THREADS_HPP_

#include <cstdint>

namespace caffe {

/// Whether RunOnThreads uses several threads (USE_TBB). If not, only BLAS has threads, its own.
#ifdef USE_TBB
inline constexpr bool kHasThreads = true;
#else
inline constexpr bool kHasThreads = false;
#endif

/// The number of threads for loops and products: as set by SetCpuThreads, initially the number of
/// cores that the process may use (its affinity).
int CpuThreads();
/// Sets the number of threads, at least 1. It is limited to the number of cores. Must not be called
/// while another thread computes: the division of work, and with it bits of products, depend on it.
void SetCpuThreads(int threads);

/// Divides [0, n) into one range per thread of the CPU, runs chunk(body, begin, end) on them and
/// returns when all are done. The calling thread takes part. Idle threads sleep, because they share
/// the cores with copies and other processes.
void RunOnThreads(int64_t n, const void* body,
                  void (*chunk)(const void* body, int64_t begin, int64_t end));

/// The same, but only on the calling thread unless `parallel`.
inline void RunLoop(int64_t n, bool parallel, const void* body,
                    void (*chunk)(const void* body, int64_t begin, int64_t end)) {
  if (parallel) {
    RunOnThreads(n, body, chunk);
  } else {
    chunk(body, 0, n);
  }
}

/// Calls body(i) for every i in [0, n), in index order within a thread; on one thread unless
/// `parallel`.
template <typename Body>
void CpuFor(int64_t n, bool parallel, const Body& body) {
  const auto chunk = [](const void* erased, int64_t begin, int64_t end) {
    const Body& run = *static_cast<const Body*>(erased);
    for (int64_t i = begin; i < end; ++i) run(i);
  };
  RunLoop(n, parallel, &body, chunk);
}

}  // namespace caffe

#endif  // CAFFE_UTIL_THREADS_HPP_
