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

/// What a gradient is multiplied by. In Dtype: most GPUs take long for doubles.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype GradientScale(const Dtype* weight, const Normalizer& normalizer) {
  return weight[0] / static_cast<Dtype>(Divisor(normalizer));
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_DIVISOR_HPP_
