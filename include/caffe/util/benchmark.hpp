#ifndef CAFFE_UTIL_BENCHMARK_H_
#define CAFFE_UTIL_BENCHMARK_H_

#include <chrono>

namespace caffe {

/// A stopwatch on the monotonic clock. Start while running and Stop while stopped do nothing.
/// Reading a running timer stops it; reading one that never ran warns and gives 0. Not thread safe.
class Timer {
 public:
  Timer() { Init(); }
  virtual ~Timer() {}
  virtual void Start();
  virtual void Stop();
  virtual float MilliSeconds();
  virtual float MicroSeconds();
  virtual float Seconds();

  inline bool initted() { return initted_; }
  inline bool running() { return running_; }
  inline bool has_run_at_least_once() { return has_run_at_least_once_; }

 protected:
  void Init();

  bool initted_ = false;
  bool running_ = false;
  bool has_run_at_least_once_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point stop_;
};

/// A Timer that measures on the CPU whatever the mode is.
class CPUTimer : public Timer {
 public:
  explicit CPUTimer() {}
  virtual ~CPUTimer() {}
};

}  // namespace caffe

#endif  // CAFFE_UTIL_BENCHMARK_H_
