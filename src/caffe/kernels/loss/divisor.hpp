#ifndef CAFFE_KERNELS_LOSS_DIVISOR_HPP_
#define CAFFE_KERNELS_LOSS_DIVISOR_HPP_

#include "caffe/kernels/loss/loss_sum.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

LAYRUB_HOST_DEVICE inline double Divisor(const Normalizer& normalizer) {
  if (normalizer.fixed > 0) return normalizer.fixed;
  return normalizer.counts->counted > 1 ? normalizer.counts->counted : 1;
}

/// The factor of a gradient. In Dtype, because doubles are slow on most GPUs.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype GradientScale(const Dtype* weight, const Normalizer& normalizer) {
  return weight[0] / static_cast<Dtype>(Divisor(normalizer));
}

/// The same for the loss of position `p`.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype GradientScale(const LossScale<Dtype>& scale, int64_t p) {
  return scale.each ? scale.weight[p] : GradientScale(scale.weight, scale.normalizer);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_DIVISOR_HPP_
