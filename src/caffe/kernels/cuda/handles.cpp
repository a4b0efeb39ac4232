// A thread's handles of CUDA's libraries, and the names of their errors.
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

using layrub::RequireCurand;

/// The seed of a thread's generators.
struct Seed {
  unsigned int value = 0;
  int times = 0;  ///< how often it was set
};

/// A thread's handles for one device. They are kept while the thread uses another device, because
/// creating them loads the libraries, which must not happen during a graph capture. At the end of
/// the main thread the driver may already be gone, so the destructor ignores errors.
class Handles {
 public:
  explicit Handles(layrub::Device* device) : device_(device) {}
  ~Handles() {
    if (cublas_) cublasDestroy(cublas_);
    if (workspace_.memory) device_->pool().Free(workspace_.memory);
    if (curand_) RequireCurand().DestroyGenerator(curand_);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  /// Returns the handle, set to the workspace of the running plan or else the thread's own, and to
  /// the math mode of library_settings(). The workspace is set each time because changing the
  /// handle's stream resets it.
  cublasHandle_t Cublas() {
    device_->MakeCurrent();  // copies to or from another device may have changed it
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
    if (!curand_)
      CURAND_CHECK(RequireCurand().CreateGenerator(&curand_, CURAND_RNG_PSEUDO_DEFAULT));
    if (seed->times == 0) *seed = {caffe_rng_rand(), 1};
    if (seed->times != seeded_) {
      CURAND_CHECK(RequireCurand().SetPseudoRandomGeneratorSeed(curand_, seed->value));
      CURAND_CHECK(RequireCurand().SetGeneratorOffset(curand_, 0));
      seeded_ = seed->times;
    }
    const cudaStream_t stream = Stream();
    if (stream != curand_stream_) CURAND_CHECK(RequireCurand().SetStream(curand_, stream));
    curand_stream_ = stream;
    return curand_;
  }

 private:
  /// The stream that the libraries must use. A handle is updated only when this stream changes, so
  /// that a stream that a user has set on the handle stays.
  cudaStream_t Stream() const { return static_cast<cudaStream_t>(device_->stream()); }

  /// Allocates the workspace from the pool, where it is counted. cuBLAS would otherwise allocate
  /// one itself.
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
  LibraryWorkspace workspace_;  ///< from the device's pool
  curandGenerator_t curand_ = nullptr;
  cudaStream_t cublas_stream_ = nullptr, curand_stream_ = nullptr;  ///< the streams last set
  int seeded_ = 0;  ///< Seed::times of the seed in use
};

/// The calling thread's handles for its device.
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
