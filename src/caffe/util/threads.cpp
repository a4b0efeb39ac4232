#include "caffe/util/threads.hpp"

#include <glog/logging.h>

#ifdef USE_TBB
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <algorithm>
#include <memory>
#endif

namespace caffe {

#ifdef USE_TBB
int CpuThreads() {
  return static_cast<int>(
      tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
}

void SetCpuThreads(int threads) {
  CHECK_GE(threads, 1);
  static std::unique_ptr<tbb::global_control> limit;
  limit.reset();  // TBB uses the smallest of several limits
  limit =
      std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                            static_cast<size_t>(std::min(threads, CpuThreads())));
}

void RunOnThreads(int64_t n, const void* body, void (*chunk)(const void*, int64_t, int64_t)) {
  tbb::parallel_for(
      tbb::blocked_range<int64_t>(0, n),
      [&](const tbb::blocked_range<int64_t>& range) { chunk(body, range.begin(), range.end()); },
      tbb::static_partitioner());
}
#else
int CpuThreads() { return 1; }
void SetCpuThreads(int threads) { CHECK_GE(threads, 1); }
void RunOnThreads(int64_t n, const void* body, void (*chunk)(const void*, int64_t, int64_t)) {
  chunk(body, 0, n);
}
#endif

}  // namespace caffe
