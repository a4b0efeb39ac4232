#include "caffe/kernels/library_kernels.hpp"

#ifdef USE_CUDNN

#include <climits>

#include "caffe/kernels/cuda/cudnn_descriptors.hpp"
#include "caffe/kernels/cuda/cudnn_problem.hpp"

namespace caffe {
namespace kernels {
namespace {

using layrub::Cudnn;
using layrub::FindCudnn;

// The helpers below require that FindCudnn() is not null.

/// Describes a packed tensor. Returns false if a size or the count exceeds what cuDNN accepts.
template <typename Dtype>
bool Describe(const CudnnTensor& tensor, int64_t n, int64_t c, int64_t h, int64_t w) {
  int64_t count = 1;
  for (const int64_t size : {n, c, h, w}) {
    if (size < 1 || size > INT_MAX || count > INT_MAX / size) return false;
    count *= size;
  }
  return FindCudnn()->SetTensor4dDescriptor(
             tensor, CUDNN_TENSOR_NCHW, cudnn::dataType<Dtype>::type, static_cast<int>(n),
             static_cast<int>(c), static_cast<int>(h), static_cast<int>(w)) == CUDNN_STATUS_SUCCESS;
}

/// An average pooling as cuDNN describes it.
struct AveragePooling {
  CudnnPooling pooling;
  CudnnTensor plane, pooled;

  template <typename Dtype>
  bool Set(const PoolingWindow& window) {
    return WholeWindows(window) &&
           FindCudnn()->SetPooling2dDescriptor(
               pooling, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING, CUDNN_PROPAGATE_NAN,
               window.kernel_h, window.kernel_w, window.pad_h, window.pad_w, window.stride_h,
               window.stride_w) == CUDNN_STATUS_SUCCESS &&
           Describe<Dtype>(plane, window.planes, 1, window.height, window.width) &&
           Describe<Dtype>(pooled, window.planes, 1, window.pooled_height, window.pooled_width);
  }
};

/// cuDNN divides alpha by the window size, as Caffe's layer parameter means it; function.alpha is
/// already divided.
template <typename Dtype>
bool Describe(const CudnnLrn& lrn, const CudnnTensor& tensor, const LrnGrid& grid,
              const LrnFunction<Dtype>& function) {
  const int size = 2 * grid.length_pad + 1;
  return grid.width_pad == 0 && size <= CUDNN_LRN_MAX_N && function.k >= CUDNN_LRN_MIN_K &&
         function.beta >= CUDNN_LRN_MIN_BETA &&
         FindCudnn()->SetLRNDescriptor(lrn, size, double(function.alpha) * size, function.beta,
                                       function.k) == CUDNN_STATUS_SUCCESS &&
         Describe<Dtype>(tensor, grid.outer, grid.length, grid.width, 1);
}

template <typename Dtype>
bool Describe(const CudnnTensor& tensor, const ScoreShape& shape) {
  return Describe<Dtype>(tensor, shape.outer, shape.classes, shape.inner, 1);
}

}  // namespace

AlgorithmCache* LibraryTimes(const DeviceContext& context) {
  return context.launch && FindCudnn() ? &CudnnTimes() : nullptr;
}

template <typename Dtype>
bool LibraryAveragePoolForward(const PoolingWindow& window, const Dtype* x, Dtype* y) {
  const Cudnn* const cudnn = FindCudnn();
  if (!cudnn) return false;
  const Dtype one = 1, zero = 0;
  AveragePooling p;
  return p.Set<Dtype>(window) && cudnn->PoolingForward(CudnnHandle(), p.pooling, &one, p.plane, x,
                                                       &zero, p.pooled, y) == CUDNN_STATUS_SUCCESS;
}

/// The gradient of an average depends on neither its input nor its output, but cuDNN requires both
/// arguments; any tensors of these shapes will do.
template <typename Dtype>
bool LibraryAveragePoolBackward(const PoolingWindow& window, const Dtype* dy, Dtype* dx) {
  const Cudnn* const cudnn = FindCudnn();
  if (!cudnn) return false;
  const Dtype one = 1, zero = 0;
  AveragePooling p;
  return p.Set<Dtype>(window) &&
         cudnn->PoolingBackward(CudnnHandle(), p.pooling, &one, p.pooled, dy, p.pooled, dy, p.plane,
                                dx, &zero, p.plane, dx) == CUDNN_STATUS_SUCCESS;
}

template <typename Dtype>
bool LibraryLrnForward(const LrnGrid& grid, const LrnFunction<Dtype>& function, const Dtype* x,
                       Dtype* y) {
  const Cudnn* const cudnn = FindCudnn();
  if (!cudnn) return false;
  const Dtype one = 1, zero = 0;
  const CudnnLrn lrn;
  const CudnnTensor tensor;
  return Describe(lrn, tensor, grid, function) &&
         cudnn->LRNCrossChannelForward(CudnnHandle(), lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one,
                                       tensor, x, &zero, tensor, y) == CUDNN_STATUS_SUCCESS;
}

template <typename Dtype>
bool LibraryLrnBackward(const LrnGrid& grid, const LrnFunction<Dtype>& function, const Dtype* x,
                        const Dtype* y, const Dtype* dy, Dtype* dx) {
  const Cudnn* const cudnn = FindCudnn();
  if (!cudnn) return false;
  const Dtype one = 1, zero = 0;
  const CudnnLrn lrn;
  const CudnnTensor tensor;
  return Describe(lrn, tensor, grid, function) &&
         cudnn->LRNCrossChannelBackward(CudnnHandle(), lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one,
                                        tensor, y, tensor, dy, tensor, x, &zero, tensor,
                                        dx) == CUDNN_STATUS_SUCCESS;
}

template <typename Dtype>
bool LibrarySoftmaxForward(const ScoreShape& shape, const Dtype* x, Dtype* y) {
  const Cudnn* const cudnn = FindCudnn();
  if (!cudnn) return false;
  const Dtype one = 1, zero = 0;
  const CudnnTensor tensor;
  return Describe<Dtype>(tensor, shape) &&
         cudnn->SoftmaxForward(CudnnHandle(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                               &one, tensor, x, &zero, tensor, y) == CUDNN_STATUS_SUCCESS;
}

template <typename Dtype>
bool LibrarySoftmaxBackward(const ScoreShape& shape, const Dtype* y, const Dtype* dy, Dtype* dx) {
  const Cudnn* const cudnn = FindCudnn();
  if (!cudnn) return false;
  const Dtype one = 1, zero = 0;
  const CudnnTensor tensor;
  return Describe<Dtype>(tensor, shape) &&
         cudnn->SoftmaxBackward(CudnnHandle(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                &one, tensor, y, tensor, dy, &zero, tensor,
                                dx) == CUDNN_STATUS_SUCCESS;
}

#else

namespace caffe {
namespace kernels {

AlgorithmCache* LibraryTimes(const DeviceContext&) { return nullptr; }

template <typename Dtype>
bool LibraryAveragePoolForward(const PoolingWindow&, const Dtype*, Dtype*) {
  return false;
}
template <typename Dtype>
bool LibraryAveragePoolBackward(const PoolingWindow&, const Dtype*, Dtype*) {
  return false;
}
template <typename Dtype>
bool LibraryLrnForward(const LrnGrid&, const LrnFunction<Dtype>&, const Dtype*, Dtype*) {
  return false;
}
template <typename Dtype>
bool LibraryLrnBackward(const LrnGrid&, const LrnFunction<Dtype>&, const Dtype*, const Dtype*,
                        const Dtype*, Dtype*) {
  return false;
}
template <typename Dtype>
bool LibrarySoftmaxForward(const ScoreShape&, const Dtype*, Dtype*) {
  return false;
}
template <typename Dtype>
bool LibrarySoftmaxBackward(const ScoreShape&, const Dtype*, const Dtype*, Dtype*) {
  return false;
}

#endif  // USE_CUDNN

#define LAYRUB_INSTANTIATE_LIBRARY(Dtype)                                                   \
  template bool LibraryAveragePoolForward(const PoolingWindow&, const Dtype*, Dtype*);      \
  template bool LibraryAveragePoolBackward(const PoolingWindow&, const Dtype*, Dtype*);     \
  template bool LibraryLrnForward(const LrnGrid&, const LrnFunction<Dtype>&, const Dtype*,  \
                                  Dtype*);                                                  \
  template bool LibraryLrnBackward(const LrnGrid&, const LrnFunction<Dtype>&, const Dtype*, \
                                   const Dtype*, const Dtype*, Dtype*);                     \
  template bool LibrarySoftmaxForward(const ScoreShape&, const Dtype*, Dtype*);             \
  template bool LibrarySoftmaxBackward(const ScoreShape&, const Dtype*, const Dtype*, Dtype*)
LAYRUB_INSTANTIATE_LIBRARY(float);
LAYRUB_INSTANTIATE_LIBRARY(double);
#undef LAYRUB_INSTANTIATE_LIBRARY

}  // namespace kernels
}  // namespace caffe
