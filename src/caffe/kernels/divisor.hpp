#ifndef CAFFE_KERNELS_DIVISOR_HPP_
#define CAFFE_KERNELS_DIVISOR_HPP_

#include "caffe/kernels/loss_sum.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

LAYRUB_HOST_DEVICE inline double Divisor(const Normalizer& normalizer) {
  if (normalizer.fixed > 0) return normalizer.fixed;
  return normalizer.counts->counted > 1 ? normalizer.counts->counted : 1;
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_DIVISOR_HPP_
