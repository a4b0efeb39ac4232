#include "caffe/common.hpp"

#include <boost/random/mersenne_twister.hpp>
#include <random>
#include <thread>

#include "caffe/util/rng.hpp"

namespace caffe {

void GlobalInit(int* pargc, char*** pargv) {
  ::gflags::ParseCommandLineFlags(pargc, pargv, true);
  ::google::InitGoogleLogging(*(pargv)[0]);
  ::google::InstallFailureSignalHandler();
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
}

Caffe::RNG& Caffe::rng_stream() {
  shared_ptr<RNG>& stream = Get().random_generator_;
  if (!stream) stream.reset(new RNG());
  return *stream;
}

#ifdef CPU_ONLY
void Caffe::SetDevice(const int) { LOG(FATAL) << "Cannot use a GPU: this is a CPU-only build."; }
void Caffe::DeviceQuery() {
  std::cout << "Device: cpu, " << std::thread::hardware_concurrency()
            << " hardware threads (CPU-only build)\n";
}
bool Caffe::CheckDevice(const int) { return false; }
int Caffe::FindDevice(const int) { return -1; }
#endif

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
