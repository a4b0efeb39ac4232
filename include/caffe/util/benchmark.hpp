#ifndef CAFFE_UTIL_BENCHMARK_H_
#define CAFFE_UTIL_BENCHMARK_H_

// User code relies on posix_time being visible.
#include <boost/date_time/posix_time/posix_time.hpp>
#include <chrono>

#include "caffe/util/device_alternate.hpp"

namespace caffe {

/// A stopwatch on the monotonic clock. In GPU mode, Start and Stop wait until the device has
/// completed all queued work. Start while running and Stop while stopped do nothing. Reading a
/// running timer stops it. Reading a timer that never ran warns and returns 0. Not thread safe.
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
  void AwaitDevice() const;

  bool initted_ = false;
  bool running_ = false;
  bool has_run_at_least_once_ = false;
  bool awaits_device_ = true;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point stop_;
};

/// A Timer that waits for no device.
class CPUTimer : public Timer {
 public:
  explicit CPUTimer() { awaits_device_ = false; }
  virtual ~CPUTimer() {}
};

}  // namespace caffe

#endif  // CAFFE_UTIL_BENCHMARK_H_
