#include "caffe/util/threads.hpp"

#ifdef USE_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#endif

namespace caffe {

#ifdef USE_TBB
void RunOnThreads(int64_t n, const void* body, void (*chunk)(const void*, int64_t, int64_t)) {
  tbb::parallel_for(
      tbb::blocked_range<int64_t>(0, n),
      [&](const tbb::blocked_range<int64_t>& range) { chunk(body, range.begin(), range.end()); },
      tbb::static_partitioner());
}
#else
void RunOnThreads(int64_t n, const void* body, void (*chunk)(const void*, int64_t, int64_t)) {
  chunk(body, 0, n);
}
#endif

}  // namespace caffe
