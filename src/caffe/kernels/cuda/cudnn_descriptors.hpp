#ifndef CAFFE_KERNELS_CUDA_CUDNN_DESCRIPTORS_HPP_
#define CAFFE_KERNELS_CUDA_CUDNN_DESCRIPTORS_HPP_

// Things of cuDNN's that go when they are left.

#include "caffe/util/cudnn.hpp"

namespace caffe {
namespace kernels {

template <typename Handle, cudnnStatus_t (*kCreate)(Handle*), cudnnStatus_t (*kDestroy)(Handle)>
class CudnnOwned {
 public:
  CudnnOwned() { CUDNN_CHECK(kCreate(&handle_)); }
  ~CudnnOwned() { kDestroy(handle_); }
  CudnnOwned(const CudnnOwned&) = delete;
  CudnnOwned& operator=(const CudnnOwned&) = delete;
  operator Handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using CudnnPooling = CudnnOwned<cudnnPoolingDescriptor_t, cudnnCreatePoolingDescriptor,
                                cudnnDestroyPoolingDescriptor>;
using CudnnLrn =
    CudnnOwned<cudnnLRNDescriptor_t, cudnnCreateLRNDescriptor, cudnnDestroyLRNDescriptor>;
using CudnnTensor =
    CudnnOwned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CUDA_CUDNN_DESCRIPTORS_HPP_
