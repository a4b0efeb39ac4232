#ifdef USE_CUDNN

#include "caffe/kernels/cuda/cudnn_problem.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "caffe/util/library_settings.hpp"
#include "layrub/device/cuda/cudnn_library.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace kernels {
namespace {

using layrub::Cudnn;
using layrub::FindCudnn;

/// A thread's cuDNN handle and problems for one device. They are kept while the thread uses another
/// device. At the end of the main thread the driver may already be gone, so the destructor ignores
/// errors.
class ThreadState {
 public:
  explicit ThreadState(layrub::Device* device) : device_(device) {}
  ~ThreadState() {
    problems_.clear();
    if (handle_) FindCudnn()->Destroy(handle_);
  }
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  cudnnHandle_t Handle() {
    device_->MakeCurrent();  // copies to or from another device may have changed it
    if (!handle_) LAYRUB_CUDNN(Create, &handle_);
    const auto stream = static_cast<cudaStream_t>(device_->stream());
    if (stream != stream_) LAYRUB_CUDNN(SetStream, handle_, stream);
    stream_ = stream;
    return handle_;
  }

  CudnnProblem* Find(const ConvolutionDims& dims, cudnnDataType_t type) {
    Handle();
    const bool exact = type == CUDNN_DATA_FLOAT && library_settings().tf32 == Tf32::kOff;
    const cudnnMathType_t math = exact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
    std::unique_ptr<CudnnProblem>& problem = problems_[{dims, type, math}];
    if (!problem) problem = std::make_unique<CudnnProblem>(dims, type, math);
    return problem->valid() ? problem.get() : nullptr;
  }

 private:
  layrub::Device* const device_;
  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;  ///< the handle's stream
  std::map<std::tuple<ConvolutionDims, cudnnDataType_t, cudnnMathType_t>,
           std::unique_ptr<CudnnProblem>>
      problems_;
};

/// The calling thread's state for its device.
ThreadState& OfThread() {
  static thread_local std::map<layrub::Device*, ThreadState> states;
  layrub::Device* const device = &Caffe::device();
  return states.try_emplace(device, device).first->second;
}

/// Describes a packed tensor with the channels before the spatial axes.
bool Set(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, const std::array<int, 5>& sizes,
         int axes) {
  return FindCudnn()->SetTensorNdDescriptorEx(descriptor, CUDNN_TENSOR_NCHW, type, 2 + axes,
                                              sizes.data()) == CUDNN_STATUS_SUCCESS;
}

}  // namespace

CudnnProblem::CudnnProblem(const ConvolutionDims& dims, cudnnDataType_t type, cudnnMathType_t math)
    : dims_(dims), math_(math) {
  LAYRUB_CUDNN(CreateTensorDescriptor, &x_);
  LAYRUB_CUDNN(CreateTensorDescriptor, &y_);
  LAYRUB_CUDNN(CreateFilterDescriptor, &w_);
  LAYRUB_CUDNN(CreateConvolutionDescriptor, &conv_);
  valid_ = Describe(type);
}

CudnnProblem::~CudnnProblem() {
  const Cudnn& cudnn = *FindCudnn();
  cudnn.DestroyConvolutionDescriptor(conv_);
  cudnn.DestroyFilterDescriptor(w_);
  cudnn.DestroyTensorDescriptor(y_);
  cudnn.DestroyTensorDescriptor(x_);
}

/// Caffe's convolution is what cuDNN calls a cross-correlation.
bool CudnnProblem::Describe(cudnnDataType_t type) {
  const Cudnn& cudnn = *FindCudnn();
  const int axes = dims_.axes;
  return Set(x_, type, dims_.x, axes) && Set(y_, type, dims_.y, axes) &&
         cudnn.SetFilterNdDescriptor(w_, type, CUDNN_TENSOR_NCHW, 2 + axes, dims_.w.data()) ==
             CUDNN_STATUS_SUCCESS &&
         cudnn.SetConvolutionNdDescriptor(conv_, axes, dims_.pad.data(), dims_.stride.data(),
                                          dims_.dilation.data(), CUDNN_CROSS_CORRELATION,
                                          type) == CUDNN_STATUS_SUCCESS &&
         cudnn.SetConvolutionGroupCount(conv_, dims_.group) == CUDNN_STATUS_SUCCESS &&
         cudnn.SetConvolutionMathType(conv_, math_) == CUDNN_STATUS_SUCCESS;
}

cudnnHandle_t CudnnHandle() { return OfThread().Handle(); }

CudnnProblem* FindCudnnProblem(const ConvolutionDims& dims, cudnnDataType_t type) {
  return FindCudnn() ? OfThread().Find(dims, type) : nullptr;
}

AlgorithmCache& CudnnTimes() {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<AlgorithmCache>> caches;
  static thread_local std::pair<int, AlgorithmCache*> last{-1, nullptr};
  const int device = Caffe::device().id();
  if (last.first == device) return *last.second;
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  const std::string name = std::string("algorithms-") + properties.name + "-cudnn" +
                           std::to_string(FindCudnn()->GetVersion());
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<AlgorithmCache>& cache = caches[name];
  if (!cache) cache = std::make_unique<AlgorithmCache>(AlgorithmCache::PathFor(name));
  last = {device, cache.get()};
  return *cache;
}

}  // namespace kernels
}  // namespace caffe

#endif  // USE_CUDNN
