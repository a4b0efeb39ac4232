#ifndef CAFFE_COMMON_HPP_
#define CAFFE_COMMON_HPP_

#if __cplusplus < 201703L
// Checked first, before other headers give errors that are harder to understand.
#error "Layrub's headers need C++17 or later: compile with -std=c++17."
#endif

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <boost/shared_ptr.hpp>
#include <climits>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/util/device_alternate.hpp"

#define STRINGIFY(m) #m
#define AS_STRING(m) STRINGIFY(m)

// Old gflags releases call their namespace google.
#ifndef GFLAGS_GFLAGS_H_
namespace gflags = google;
#endif

#define DISABLE_COPY_AND_ASSIGN(classname) \
 private:                                  \
  classname(const classname&);             \
  classname& operator=(const classname&)

// The guard, which catches a second instantiation in the same file, is static: another library may
// have a class of the same name.
#define INSTANTIATE_CLASS(classname)                           \
  [[maybe_unused]] static char gInstantiationGuard##classname; \
  template class classname<float>;                             \
  template class classname<double>

#define INSTANTIATE_LAYER_GPU_FORWARD(classname)                                         \
  template void classname<float>::Forward_gpu(const std::vector<Blob<float>*>& bottom,   \
                                              const std::vector<Blob<float>*>& top);     \
  template void classname<double>::Forward_gpu(const std::vector<Blob<double>*>& bottom, \
                                               const std::vector<Blob<double>*>& top);

#define INSTANTIATE_LAYER_GPU_BACKWARD(classname)                                        \
  template void classname<float>::Backward_gpu(const std::vector<Blob<float>*>& top,     \
                                               const std::vector<bool>& propagate_down,  \
                                               const std::vector<Blob<float>*>& bottom); \
  template void classname<double>::Backward_gpu(const std::vector<Blob<double>*>& top,   \
                                                const std::vector<bool>& propagate_down, \
                                                const std::vector<Blob<double>*>& bottom)

#define INSTANTIATE_LAYER_GPU_FUNCS(classname) \
  INSTANTIATE_LAYER_GPU_FORWARD(classname);    \
  INSTANTIATE_LAYER_GPU_BACKWARD(classname)

#define NOT_IMPLEMENTED LOG(FATAL) << "Not Implemented Yet"

namespace cv {
class Mat;
}
namespace layrub {
class Device;
}

namespace caffe {

// User code relies on these names being visible in namespace caffe.
using boost::shared_ptr;
using std::fstream;
using std::ios;
using std::isinf;
using std::isnan;
using std::iterator;
using std::make_pair;
using std::map;
using std::ostringstream;
using std::pair;
using std::set;
using std::string;
using std::stringstream;
using std::vector;

/// Parses gflags and starts glog; removes the flags it knows from argv.
void GlobalInit(int* pargc, char*** pargv);

/// Per-thread settings: mode, device, random stream, and the solver's rank among several. Every
/// thread starts in CPU mode, with a stream seeded from the system's entropy.
class Caffe {
 public:
  ~Caffe();
  static Caffe& Get();

  enum Brew { CPU, GPU };

  /// A handle of a boost::mt19937, hidden so that nvcc never sees boost's random headers. Copies
  /// share the generator.
  class RNG {
   public:
    RNG();
    explicit RNG(unsigned int seed);
    explicit RNG(const RNG&);
    RNG& operator=(const RNG&);
    void* generator();

   private:
    class Generator;
    shared_ptr<Generator> generator_;
  };

  static RNG& rng_stream();
#ifndef CPU_ONLY
  // The handles of this thread and its device, created at the first use.
  static cublasHandle_t cublas_handle();
  static curandGenerator_t curand_generator();
#endif

  static Brew mode() { return Get().mode_; }
  static void set_mode(Brew mode) { Get().mode_ = mode; }
  /// Seeds this thread's stream.
  static void set_random_seed(const unsigned int seed);
  /// For programs that host the library. If true, fatal checks in all threads throw caffe::Error
  /// instead of ending the process. The default is false, as in Caffe. Two other exceptions are
  /// possible: std::bad_alloc if memory runs out, and layrub::GroupFailed if a group of solvers
  /// ends.
  ///
  /// The state after an error:
  /// - If a constructor throws, the object and all that it owned are gone.
  /// - If a pass of a net or solver fails, the object remains usable, with parameters and history
  ///   as the pass left them. If their values were lost, every later pass reports that.
  /// - An error in a thread of the library is thrown where its result is awaited. For example, a
  ///   data layer whose source is damaged throws the same error in each forward.
  /// - Every object may be destroyed. Errors during destruction are logged.
  static void set_throw_on_error(bool value);
  /// Makes GPU `device_id` this thread's device. Aborts if there is no such GPU.
  static void SetDevice(const int device_id);
  /// Prints a description of this thread's device, or the reason why there is none.
  static void DeviceQuery();
  static bool CheckDevice(const int device_id);
  /// The first usable device from `start_id` on, or -1.
  static int FindDevice(const int start_id = 0);

  /// This thread's device: the one it has chosen, otherwise GPU 0. Aborts if there is none.
  static layrub::Device& device();
  /// The device that this thread has chosen, or null.
  static layrub::Device* chosen_device() { return Get().device_; }
  /// Chooses a device that is not a GPU (layrub::MakeEmulatedDevice), or no device if null.
  static void UseDevice(layrub::Device* device);

  // Data parallel training: the number of solvers and the rank of this thread's.
  static int solver_count() { return Get().solver_count_; }
  static void set_solver_count(int val) { Get().solver_count_ = val; }
  static int solver_rank() { return Get().solver_rank_; }
  static void set_solver_rank(int val) { Get().solver_rank_ = val; }
  static bool multiprocess() { return Get().multiprocess_; }
  static void set_multiprocess(bool val) { Get().multiprocess_ = val; }
  static bool root_solver() { return Get().solver_rank_ == 0; }

 private:
  Caffe();

#ifndef CPU_ONLY
  static void SeedGenerator(unsigned int seed);
#endif
  shared_ptr<RNG> random_generator_;
  layrub::Device* device_ = nullptr;
  Brew mode_;
  int solver_count_;
  int solver_rank_;
  bool multiprocess_;

  DISABLE_COPY_AND_ASSIGN(Caffe);
};

}  // namespace caffe

#endif  // CAFFE_COMMON_HPP_
