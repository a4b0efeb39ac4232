#ifndef CAFFE_UTIL_THREADS_HPP_
#define CAFFE_UTIL_THREADS_HPP_

#include <cstdint>

namespace caffe {

/// Whether RunOnThreads has several threads (USE_TBB); without, BLAS has those of its own alone.
#ifdef USE_TBB
inline constexpr bool kHasThreads = true;
#else
inline constexpr bool kHasThreads = false;
#endif

/// How many threads loops and products have: as many as SetCpuThreads said, at first as many as the
/// process may use cores (its affinity).
int CpuThreads();
/// From now on; at least 1. More than there are cores are as many as there are cores. Not while
/// another thread computes: shares, and with them bits of products, depend on it.
void SetCpuThreads(int threads);

/// Cuts [0, n) into one range for each thread of the CPU, runs chunk(body, begin, end) on them and
/// returns when all are done. The calling thread takes part. Threads that wait for work sleep: they
/// share the cores with copies and with other processes.
void RunOnThreads(int64_t n, const void* body,
                  void (*chunk)(const void* body, int64_t begin, int64_t end));

/// The same, on the calling thread alone unless `parallel`.
inline void RunLoop(int64_t n, bool parallel, const void* body,
                    void (*chunk)(const void* body, int64_t begin, int64_t end)) {
  if (parallel) {
    RunOnThreads(n, body, chunk);
  } else {
    chunk(body, 0, n);
  }
}

/// body(i) for every i in [0, n), in index order within a thread; on one thread unless `parallel`.
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
