#ifndef CAFFE_KERNELS_CUDA_CUDNN_DESCRIPTORS_HPP_
#define CAFFE_KERNELS_CUDA_CUDNN_DESCRIPTORS_HPP_

// Owners of cuDNN handles and descriptors. They require that layrub::FindCudnn() is not null.

#include <glog/logging.h>

#include "layrub/device/cuda/cudnn_library.hpp"

namespace caffe {
namespace kernels {

template <typename Handle, cudnnStatus_t (*layrub::Cudnn::*kCreate)(Handle*),
          cudnnStatus_t (*layrub::Cudnn::*kDestroy)(Handle)>
class CudnnOwned {
 public:
  CudnnOwned() {
    const layrub::Cudnn& cudnn = *layrub::FindCudnn();
    const cudnnStatus_t made = (cudnn.*kCreate)(&handle_);
    CHECK_EQ(made, CUDNN_STATUS_SUCCESS)
        << "cuDNN cannot make a handle or a descriptor: " << cudnn.GetErrorString(made);
  }
  ~CudnnOwned() { (layrub::FindCudnn()->*kDestroy)(handle_); }
  CudnnOwned(const CudnnOwned&) = delete;
  CudnnOwned& operator=(const CudnnOwned&) = delete;
  operator Handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using CudnnPooling = CudnnOwned<cudnnPoolingDescriptor_t, &layrub::Cudnn::CreatePoolingDescriptor,
                                &layrub::Cudnn::DestroyPoolingDescriptor>;
using CudnnLrn = CudnnOwned<cudnnLRNDescriptor_t, &layrub::Cudnn::CreateLRNDescriptor,
                            &layrub::Cudnn::DestroyLRNDescriptor>;
using CudnnTensor = CudnnOwned<cudnnTensorDescriptor_t, &layrub::Cudnn::CreateTensorDescriptor,
                               &layrub::Cudnn::DestroyTensorDescriptor>;

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CUDA_CUDNN_DESCRIPTORS_HPP_
