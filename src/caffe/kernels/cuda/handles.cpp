// What this thread needs of CUDA's libraries, and what their errors are called.
#include <map>

#include "caffe/common.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/util/library_settings.hpp"
#include "caffe/util/library_workspace.hpp"
#include "caffe/util/math_functions.hpp"
#include "layrub/device/cuda/curand_library.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace {

using layrub::NeedCurand;

/// What a thread's generators begin with.
struct Seed {
  unsigned int value = 0;
  int times = 0;  ///< it was set
};

/// The handles of one thread for one device: libraries load at their first use, which must not be
/// in a capture, so they stay when the thread works on another one meanwhile. When the thread ends
/// the driver may have gone before (the main thread): what the libraries say to that is of no
/// interest.
class Handles {
 public:
  explicit Handles(layrub::Device* device) : device_(device) {}
  ~Handles() {
    if (cublas_) cublasDestroy(cublas_);
    if (workspace_.memory) device_->pool().Free(workspace_.memory);
    if (curand_) NeedCurand().DestroyGenerator(curand_);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  /// With the workspace of the plan at work, or the thread's own: each time, since a change of the
  /// handle's stream takes it away. With the arithmetic that library_settings() wants now.
  cublasHandle_t Cublas() {
    device_->MakeCurrent();  // copies to and from another one may have come between
    if (!cublas_) CUBLAS_CHECK(cublasCreate(&cublas_));
    const cudaStream_t stream = Stream();
    if (stream != cublas_stream_) CUBLAS_CHECK(cublasSetStream(cublas_, stream));
    cublas_stream_ = stream;
    CUBLAS_CHECK(cublasSetMathMode(cublas_, RoundsToTf32<float>(Tf32::kAll)
                                                ? CUBLAS_TF32_TENSOR_OP_MATH
                                                : CUBLAS_DEFAULT_MATH));
    const LibraryWorkspace& planned = library_workspace();
    const LibraryWorkspace& workspace = planned.memory ? planned : OwnWorkspace();
    CUBLAS_CHECK(cublasSetWorkspace(cublas_, workspace.memory, workspace.bytes));
    return cublas_;
  }

  curandGenerator_t Curand(Seed* seed) {
    device_->MakeCurrent();
    if (!curand_) CURAND_CHECK(NeedCurand().CreateGenerator(&curand_, CURAND_RNG_PSEUDO_DEFAULT));
    if (seed->times == 0) *seed = {caffe_rng_rand(), 1};
    if (seed->times != seeded_) {
      CURAND_CHECK(NeedCurand().SetPseudoRandomGeneratorSeed(curand_, seed->value));
      CURAND_CHECK(NeedCurand().SetGeneratorOffset(curand_, 0));
      seeded_ = seed->times;
    }
    const cudaStream_t stream = Stream();
    if (stream != curand_stream_) CURAND_CHECK(NeedCurand().SetStream(curand_, stream));
    curand_stream_ = stream;
    return curand_;
  }

 private:
  /// Where the libraries are to work. They are told when it changes: users may have given a handle
  /// a stream of theirs meanwhile.
  cudaStream_t Stream() const { return static_cast<cudaStream_t>(device_->stream()); }

  /// cuBLAS would allocate a workspace by itself: from the pool, it is counted.
  const LibraryWorkspace& OwnWorkspace() {
    if (workspace_.memory) return workspace_;
    workspace_.bytes = device_->library_workspace_bytes();
    workspace_.memory = device_->pool().Allocate(workspace_.bytes);
    CHECK(workspace_.memory) << "GPU " << device_->id() << " has no " << workspace_.bytes
                             << " bytes left for the workspace of cuBLAS.";
    return workspace_;
  }

  layrub::Device* const device_;
  cublasHandle_t cublas_ = nullptr;
  LibraryWorkspace workspace_;  ///< of the device's pool
  curandGenerator_t curand_ = nullptr;
  cudaStream_t cublas_stream_ = nullptr, curand_stream_ = nullptr;  ///< what they were told last
  int seeded_ = 0;  ///< Seed::times that it was given
};

/// The calling thread's, for its device.
Handles& OfThread() {
  static thread_local std::map<layrub::Device*, Handles> handles;
  layrub::Device* const device = &Caffe::device();
  return handles.try_emplace(device, device).first->second;
}

thread_local Seed seed;

}  // namespace

cublasHandle_t Caffe::cublas_handle() { return OfThread().Cublas(); }
curandGenerator_t Caffe::curand_generator() { return OfThread().Curand(&seed); }
void Caffe::SeedGenerator(unsigned int value) { seed = {value, seed.times + 1}; }

const char* cublasGetErrorString(cublasStatus_t error) { return cublasGetStatusString(error); }

const char* curandGetErrorString(curandStatus_t error) {
  switch (error) {
#define LAYRUB_NAME(status) \
  case status:              \
    return #status
    LAYRUB_NAME(CURAND_STATUS_SUCCESS);
    LAYRUB_NAME(CURAND_STATUS_VERSION_MISMATCH);
    LAYRUB_NAME(CURAND_STATUS_NOT_INITIALIZED);
    LAYRUB_NAME(CURAND_STATUS_ALLOCATION_FAILED);
    LAYRUB_NAME(CURAND_STATUS_TYPE_ERROR);
    LAYRUB_NAME(CURAND_STATUS_OUT_OF_RANGE);
    LAYRUB_NAME(CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    LAYRUB_NAME(CURAND_STATUS_DOUBLE_PRECISION_REQUIRED);
    LAYRUB_NAME(CURAND_STATUS_LAUNCH_FAILURE);
    LAYRUB_NAME(CURAND_STATUS_PREEXISTING_FAILURE);
    LAYRUB_NAME(CURAND_STATUS_INITIALIZATION_FAILED);
    LAYRUB_NAME(CURAND_STATUS_ARCH_MISMATCH);
    LAYRUB_NAME(CURAND_STATUS_INTERNAL_ERROR);
#undef LAYRUB_NAME
  }
  return "an unknown error of cuRAND";
}

namespace kernels {

void CheckLaunch() {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  LOG(FATAL) << "A kernel was not launched, or one before it has failed: "
             << cudaGetErrorString(error) << ".";
}

}  // namespace kernels
}  // namespace caffe
