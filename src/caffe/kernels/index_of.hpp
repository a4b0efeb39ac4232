#ifndef CAFFE_KERNELS_INDEX_OF_HPP_
#define CAFFE_KERNELS_INDEX_OF_HPP_

#include <cstdint>

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// Converts a value of a blob to an index in [0, size), dropping the fraction. Returns -1 if it is
/// out of range or NaN.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline int64_t IndexOf(Dtype value, int64_t size) {
  // Compares before it converts: converting NaN or a huge value to an integer is undefined.
  if (!(value > -1 && value < static_cast<Dtype>(size))) return -1;
  return static_cast<int64_t>(value);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_INDEX_OF_HPP_
