#include "caffe/util/benchmark.hpp"

#include "caffe/common.hpp"
#include "layrub/device/device.hpp"

namespace caffe {

void Timer::Init() { initted_ = true; }

void Timer::AwaitDevice() const {
  if (awaits_device_ && Caffe::mode() == Caffe::GPU) Caffe::device().Synchronize();
}

void Timer::Start() {
  if (running_) return;
  AwaitDevice();
  running_ = true;
  has_run_at_least_once_ = true;
  start_ = std::chrono::steady_clock::now();
}

void Timer::Stop() {
  if (!running_) return;
  AwaitDevice();
  stop_ = std::chrono::steady_clock::now();
  running_ = false;
}

float Timer::MicroSeconds() {
  if (!has_run_at_least_once_) {
    LOG(WARNING) << "Timer has never been run before reading time.";
    return 0;
  }
  Stop();
  return std::chrono::duration<float, std::micro>(stop_ - start_).count();
}

float Timer::MilliSeconds() { return MicroSeconds() / 1000; }

float Timer::Seconds() { return MicroSeconds() / 1000000; }

}  // namespace caffe
