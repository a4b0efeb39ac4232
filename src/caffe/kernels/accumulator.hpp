#ifndef CAFFE_KERNELS_ACCUMULATOR_HPP_
#define CAFFE_KERNELS_ACCUMULATOR_HPP_

#include <cstdint>

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// An array of sums that a kernel adds to. If `add` is false, the sums start at zero but the memory
/// is uninitialised: the kernel must write every element.
template <typename Dtype>
struct Accumulator {
  Dtype* sum = nullptr;  ///< null: the sums are not wanted
  bool add = true;

  LAYRUB_HOST_DEVICE void Add(int64_t i, Dtype value) const {
    if (sum == nullptr) return;
    sum[i] = add ? sum[i] + value : value;
  }
};

/// An accumulator whose sums start with this kernel: it overwrites `sum`.
template <typename Dtype>
Accumulator<Dtype> NewSum(Dtype* sum) {
  return {sum, false};
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACCUMULATOR_HPP_
