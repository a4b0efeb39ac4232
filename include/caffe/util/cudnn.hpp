#ifndef CAFFE_UTIL_CUDNN_H_
#define CAFFE_UTIL_CUDNN_H_

// Helpers for code that calls cuDNN, as in Caffe.

#ifdef USE_CUDNN

#include <cudnn.h>
#include <glog/logging.h>

#include "caffe/proto/caffe.pb.h"

#define CUDNN_VERSION_MIN(major, minor, patch) \
  (CUDNN_MAJOR > (major) ||                    \
   (CUDNN_MAJOR == (major) &&                  \
    (CUDNN_MINOR > (minor) || (CUDNN_MINOR == (minor) && CUDNN_PATCHLEVEL >= (patch)))))

/// Aborts, naming the call, if it fails.
#define CUDNN_CHECK(condition)                                      \
  do {                                                              \
    const cudnnStatus_t cudnn_status = (condition);                 \
    CHECK_EQ(cudnn_status, CUDNN_STATUS_SUCCESS)                    \
        << #condition << ": " << cudnnGetErrorString(cudnn_status); \
  } while (0)

namespace caffe {
namespace cudnn {

/// cuDNN's name of a value type, and the factors 1 and 0 in the type that cuDNN wants for them, at
/// host addresses.
template <typename Dtype>
class dataType;
template <>
class dataType<float> {
 public:
  static constexpr cudnnDataType_t type = CUDNN_DATA_FLOAT;
  static constexpr const char* name = "float";
  static constexpr float oneval = 1;
  static constexpr float zeroval = 0;
  static constexpr const void* one = &oneval;
  static constexpr const void* zero = &zeroval;
};
template <>
class dataType<double> {
 public:
  static constexpr cudnnDataType_t type = CUDNN_DATA_DOUBLE;
  static constexpr const char* name = "double";
  static constexpr double oneval = 1;
  static constexpr double zeroval = 0;
  static constexpr const void* one = &oneval;
  static constexpr const void* zero = &zeroval;
};

// Descriptors. A create function makes a descriptor, which the caller destroys with cuDNN's own
// function.

template <typename Dtype>
inline void createTensor4dDesc(cudnnTensorDescriptor_t* desc) {
  CUDNN_CHECK(cudnnCreateTensorDescriptor(desc));
}

template <typename Dtype>
inline void setTensor4dDesc(cudnnTensorDescriptor_t* desc, int n, int c, int h, int w, int stride_n,
                            int stride_c, int stride_h, int stride_w) {
  CUDNN_CHECK(cudnnSetTensor4dDescriptorEx(*desc, dataType<Dtype>::type, n, c, h, w, stride_n,
                                           stride_c, stride_h, stride_w));
}

/// The same for values without gaps.
template <typename Dtype>
inline void setTensor4dDesc(cudnnTensorDescriptor_t* desc, int n, int c, int h, int w) {
  setTensor4dDesc<Dtype>(desc, n, c, h, w, c * h * w, h * w, w, 1);
}

/// A bank of n filters of c channels.
template <typename Dtype>
inline void createFilterDesc(cudnnFilterDescriptor_t* desc, int n, int c, int h, int w) {
  CUDNN_CHECK(cudnnCreateFilterDescriptor(desc));
  CUDNN_CHECK(
      cudnnSetFilter4dDescriptor(*desc, dataType<Dtype>::type, CUDNN_TENSOR_NCHW, n, c, h, w));
}

template <typename Dtype>
inline void createConvolutionDesc(cudnnConvolutionDescriptor_t* conv) {
  CUDNN_CHECK(cudnnCreateConvolutionDescriptor(conv));
}

/// A cross-correlation without dilation. The tensor and the filter are ignored.
template <typename Dtype>
inline void setConvolutionDesc(cudnnConvolutionDescriptor_t* conv,
                               cudnnTensorDescriptor_t /*bottom*/,
                               cudnnFilterDescriptor_t /*filter*/, int pad_h, int pad_w,
                               int stride_h, int stride_w) {
  CUDNN_CHECK(cudnnSetConvolution2dDescriptor(*conv, pad_h, pad_w, stride_h, stride_w, 1, 1,
                                              CUDNN_CROSS_CORRELATION, dataType<Dtype>::type));
}

/// Sets `mode` to cuDNN's name of `poolmethod`, MAX or AVE. Aborts for any other method.
template <typename Dtype>
inline void createPoolingDesc(cudnnPoolingDescriptor_t* pool_desc,
                              PoolingParameter_PoolMethod poolmethod, cudnnPoolingMode_t* mode,
                              int h, int w, int pad_h, int pad_w, int stride_h, int stride_w) {
  CHECK(poolmethod == PoolingParameter_PoolMethod_MAX ||
        poolmethod == PoolingParameter_PoolMethod_AVE)
      << "cuDNN has no pooling method " << PoolingParameter_PoolMethod_Name(poolmethod);
  *mode = poolmethod == PoolingParameter_PoolMethod_MAX
              ? CUDNN_POOLING_MAX
              : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
  CUDNN_CHECK(cudnnCreatePoolingDescriptor(pool_desc));
  CUDNN_CHECK(cudnnSetPooling2dDescriptor(*pool_desc, *mode, CUDNN_PROPAGATE_NAN, h, w, pad_h,
                                          pad_w, stride_h, stride_w));
}

template <typename Dtype>
inline void createActivationDescriptor(cudnnActivationDescriptor_t* activ_desc,
                                       cudnnActivationMode_t mode) {
  CUDNN_CHECK(cudnnCreateActivationDescriptor(activ_desc));
  CUDNN_CHECK(cudnnSetActivationDescriptor(*activ_desc, mode, CUDNN_PROPAGATE_NAN, 0));
}

}  // namespace cudnn
}  // namespace caffe

#endif  // USE_CUDNN

#endif  // CAFFE_UTIL_CUDNN_H_
