#include "caffe/common.hpp"

#include <boost/random/mersenne_twister.hpp>
#include <random>
#include <thread>

#include "caffe/core/mode_device.hpp"
#include "caffe/util/log_progress.hpp"
#include "caffe/util/rng.hpp"
#include "layrub/device/device.hpp"

namespace caffe {

void GlobalInit(int* pargc, char*** pargv) {
  ::gflags::ParseCommandLineFlags(pargc, pargv, true);
  ::google::InitGoogleLogging(*(pargv)[0]);
  ::google::InstallFailureSignalHandler();
  KeepProgressBelowLog();
}

Caffe& Caffe::Get() {
  // Made at a thread's first use, destroyed with the thread.
  static thread_local Caffe instance;
  return instance;
}

Caffe::Caffe()
    : random_generator_(), mode_(CPU), solver_count_(1), solver_rank_(0), multiprocess_(false) {}

Caffe::~Caffe() {}

void Caffe::set_random_seed(const unsigned int seed) {
  Get().random_generator_.reset(new RNG(seed));
#ifndef CPU_ONLY
  SeedGenerator(seed);
#endif
}

Caffe::RNG& Caffe::rng_stream() {
  shared_ptr<RNG>& stream = Get().random_generator_;
  if (!stream) stream.reset(new RNG());
  return *stream;
}

namespace {

bool IsGpu(int id) { return id >= 0 && id < layrub::GpuCount(); }

}  // namespace

void Caffe::SetDevice(const int device_id) {
  CHECK_GT(layrub::GpuCount(), 0) << layrub::NoGpuReason();
  CHECK(IsGpu(device_id)) << "There is no GPU " << device_id
                          << ": the GPUs of this machine are 0 to " << layrub::GpuCount() - 1
                          << ".";
  UseDevice(&layrub::Gpu(device_id));
}

void Caffe::UseDevice(layrub::Device* device) {
  Get().device_ = device;
  if (device) device->MakeCurrent();
}

layrub::Device& Caffe::device() {
  if (!Get().device_) {
    CHECK_GT(layrub::GpuCount(), 0) << layrub::NoGpuReason();
    SetDevice(0);
  }
  return *Get().device_;
}

layrub::Device* ModeDevice() {
  if (Caffe::mode() == Caffe::CPU) return nullptr;
  return Caffe::chosen_device() || layrub::GpuCount() > 0 ? &Caffe::device() : nullptr;
}

void Caffe::DeviceQuery() {
  if (!chosen_device() && layrub::GpuCount() == 0) {
    std::cout << "No GPU: " << layrub::NoGpuReason() << "\nDevice: cpu, "
              << std::thread::hardware_concurrency() << " hardware threads\n";
    return;
  }
  std::cout << "Device " << device().id() << ": " << device().Describe() << "\n";
}

bool Caffe::CheckDevice(const int device_id) { return IsGpu(device_id); }

int Caffe::FindDevice(const int start_id) { return IsGpu(start_id) ? start_id : -1; }

class Caffe::RNG::Generator {
 public:
  Generator() : engine_(std::random_device()()) {}
  explicit Generator(unsigned int seed) : engine_(seed) {}
  rng_t* engine() { return &engine_; }

 private:
  rng_t engine_;
};

Caffe::RNG::RNG() : generator_(new Generator()) {}
Caffe::RNG::RNG(unsigned int seed) : generator_(new Generator(seed)) {}
Caffe::RNG::RNG(const RNG& other) : generator_(other.generator_) {}
Caffe::RNG& Caffe::RNG::operator=(const RNG& other) {
  generator_ = other.generator_;
  return *this;
}
void* Caffe::RNG::generator() { return static_cast<void*>(generator_->engine()); }

}  // namespace caffe
