#ifndef CAFFE_UTIL_CUDNN_H_
#define CAFFE_UTIL_CUDNN_H_

// What code with calls of cuDNN uses, as in Caffe.

#ifdef USE_CUDNN

#include <cudnn.h>
#include <glog/logging.h>

#define CUDNN_VERSION_MIN(major, minor, patch) \
  (CUDNN_MAJOR > (major) ||                    \
   (CUDNN_MAJOR == (major) &&                  \
    (CUDNN_MINOR > (minor) || (CUDNN_MINOR == (minor) && CUDNN_PATCHLEVEL >= (patch)))))

/// Ends the program, naming the call, when it fails.
#define CUDNN_CHECK(condition)                                      \
  do {                                                              \
    const cudnnStatus_t cudnn_status = (condition);                 \
    CHECK_EQ(cudnn_status, CUDNN_STATUS_SUCCESS)                    \
        << #condition << ": " << cudnnGetErrorString(cudnn_status); \
  } while (0)

namespace caffe {
namespace cudnn {

/// How cuDNN calls a type of values, and the factors 1 and 0 in the type that it wants for them.
template <typename Dtype>
class dataType;
template <>
class dataType<float> {
 public:
  static constexpr cudnnDataType_t type = CUDNN_DATA_FLOAT;
  static constexpr const char* name = "float";
  static constexpr float oneval = 1;
  static constexpr float zeroval = 0;
};
template <>
class dataType<double> {
 public:
  static constexpr cudnnDataType_t type = CUDNN_DATA_DOUBLE;
  static constexpr const char* name = "double";
  static constexpr double oneval = 1;
  static constexpr double zeroval = 0;
};

}  // namespace cudnn
}  // namespace caffe

#endif  // USE_CUDNN

#endif  // CAFFE_UTIL_CUDNN_H_
