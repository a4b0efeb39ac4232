#ifndef CAFFE_KERNELS_INDEX_OF_HPP_
#define CAFFE_KERNELS_INDEX_OF_HPP_

#include <cstdint>

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// Which of `size` things a value of a blob names, its fraction dropped; -1 where it names none.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline int64_t IndexOf(Dtype value, int64_t size) {
  // Compared before it is converted: not a number and huge values have no integer.
  if (!(value > -1 && value < static_cast<Dtype>(size))) return -1;
  return static_cast<int64_t>(value);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_INDEX_OF_HPP_
