#ifndef CAFFE_KERNELS_ONEDNN_OPENMP_HPP_
#define CAFFE_KERNELS_ONEDNN_OPENMP_HPP_

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

namespace caffe {
namespace kernels {

/// True in a forked child, which lacks the threads that its parent's OpenMP would wait for.
inline std::atomic<bool> in_child{false};
inline const int registered = pthread_atfork(nullptr, nullptr, [] { in_child = true; });

/// While this object exists, the calling thread's parallel regions have count() threads: the wanted
/// number, or fewer if OpenMP allows fewer. oneDNN needs the number of threads that a kernel was
/// made for.
class OmpThreads {
 public:
  explicit OmpThreads(int wanted)
      : count_(Possible(wanted)), threads_(omp_get_max_threads()), dynamic_(omp_get_dynamic()) {
    omp_set_num_threads(count_);
    omp_set_dynamic(0);
  }
  ~OmpThreads() {
    omp_set_num_threads(threads_);
    omp_set_dynamic(dynamic_);
  }
  OmpThreads(const OmpThreads&) = delete;
  OmpThreads& operator=(const OmpThreads&) = delete;

  int count() const { return count_; }

 private:
  static int Possible(int wanted) {
    if (in_child || omp_in_parallel()) return 1;
    return std::min(wanted, omp_get_thread_limit());
  }

  const int count_, threads_, dynamic_;
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ONEDNN_OPENMP_HPP_
