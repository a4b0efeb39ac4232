#ifndef LAYRUB_DEVICE_CUDA_CUDNN_LIBRARY_HPP_
#define LAYRUB_DEVICE_CUDA_CUDNN_LIBRARY_HPP_

#include <cudnn.h>

#include <optional>
#include <string>

#include "layrub/base/opened_library.hpp"
#include "layrub/device/failure.hpp"

namespace layrub {

#define LAYRUB_CUDNN_FUNCTIONS(X)                          \
  X(cudnn, GetVersion);                                    \
  X(cudnn, GetErrorString);                                \
  X(cudnn, Create);                                        \
  X(cudnn, Destroy);                                       \
  X(cudnn, SetStream);                                     \
  X(cudnn, CreateTensorDescriptor);                        \
  X(cudnn, DestroyTensorDescriptor);                       \
  X(cudnn, SetTensor4dDescriptor);                         \
  X(cudnn, SetTensorNdDescriptorEx);                       \
  X(cudnn, CreateFilterDescriptor);                        \
  X(cudnn, DestroyFilterDescriptor);                       \
  X(cudnn, SetFilterNdDescriptor);                         \
  X(cudnn, CreateConvolutionDescriptor);                   \
  X(cudnn, DestroyConvolutionDescriptor);                  \
  X(cudnn, SetConvolutionNdDescriptor);                    \
  X(cudnn, SetConvolutionGroupCount);                      \
  X(cudnn, SetConvolutionMathType);                        \
  X(cudnn, GetConvolutionForwardAlgorithmMaxCount);        \
  X(cudnn, GetConvolutionForwardAlgorithm_v7);             \
  X(cudnn, FindConvolutionForwardAlgorithm);               \
  X(cudnn, GetConvolutionForwardWorkspaceSize);            \
  X(cudnn, ConvolutionForward);                            \
  X(cudnn, GetConvolutionBackwardDataAlgorithmMaxCount);   \
  X(cudnn, GetConvolutionBackwardDataAlgorithm_v7);        \
  X(cudnn, FindConvolutionBackwardDataAlgorithm);          \
  X(cudnn, GetConvolutionBackwardDataWorkspaceSize);       \
  X(cudnn, ConvolutionBackwardData);                       \
  X(cudnn, GetConvolutionBackwardFilterAlgorithmMaxCount); \
  X(cudnn, GetConvolutionBackwardFilterAlgorithm_v7);      \
  X(cudnn, FindConvolutionBackwardFilterAlgorithm);        \
  X(cudnn, GetConvolutionBackwardFilterWorkspaceSize);     \
  X(cudnn, ConvolutionBackwardFilter);                     \
  X(cudnn, CreatePoolingDescriptor);                       \
  X(cudnn, DestroyPoolingDescriptor);                      \
  X(cudnn, SetPooling2dDescriptor);                        \
  X(cudnn, PoolingForward);                                \
  X(cudnn, PoolingBackward);                               \
  X(cudnn, CreateLRNDescriptor);                           \
  X(cudnn, DestroyLRNDescriptor);                          \
  X(cudnn, SetLRNDescriptor);                              \
  X(cudnn, LRNCrossChannelForward);                        \
  X(cudnn, LRNCrossChannelBackward);                       \
  X(cudnn, SoftmaxForward);                                \
  X(cudnn, SoftmaxBackward)

/// The functions of cuDNN that are called.
struct Cudnn {
  LAYRUB_LIBRARY_FUNCTIONS(LAYRUB_CUDNN_FUNCTIONS)
};
#undef LAYRUB_CUDNN_FUNCTIONS

/// OpenLibrary of cuDNN in `file`.
std::optional<Cudnn> OpenCudnn(const std::string& file, std::string* why_not);

/// Returns a version like "9.1.0", or "" if the library does not tell it.
std::string VersionOf(const Cudnn& cudnn);

/// Returns this machine's cuDNN, of the same major version as the header this was compiled with.
/// The first call opens it. Returns null, and logs the reason once, if no usable one is found.
/// Thread safe.
const Cudnn* FindCudnn();

}  // namespace layrub

/// Calls cudnn<function>(arguments). An error is a failure (failure.hpp) that names the call.
/// FindCudnn must not return null.
#define LAYRUB_CUDNN(function, ...)                                                               \
  do {                                                                                            \
    const ::layrub::Cudnn& layrub_cudnn = *::layrub::FindCudnn();                                 \
    const cudnnStatus_t layrub_status = layrub_cudnn.function(__VA_ARGS__);                       \
    if (layrub_status != CUDNN_STATUS_SUCCESS)                                                    \
      ::layrub::Fail(                                                                             \
          std::string("cudnn" #function ": ") + layrub_cudnn.GetErrorString(layrub_status) + ".", \
          __FILE__, __LINE__);                                                                    \
  } while (0)

#endif  // LAYRUB_DEVICE_CUDA_CUDNN_LIBRARY_HPP_
