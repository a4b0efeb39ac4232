#ifndef CAFFE_KERNELS_ACCUMULATOR_HPP_
#define CAFFE_KERNELS_ACCUMULATOR_HPP_

#include <cstdint>

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// Sums that a kernel adds to. Where `add` is false they are zero, but their bytes are not yet: the
/// kernel writes all of them.
template <typename Dtype>
struct Accumulator {
  Dtype* sum = nullptr;  ///< null: not wanted
  bool add = true;

  LAYRUB_HOST_DEVICE void Add(int64_t i, Dtype value) const {
    if (sum == nullptr) return;
    sum[i] = add ? sum[i] + value : value;
  }
};

/// Sums that begin with this kernel.
template <typename Dtype>
Accumulator<Dtype> NewSum(Dtype* sum) {
  return {sum, false};
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACCUMULATOR_HPP_
