#ifndef CAFFE_KERNELS_LOSS_LOSS_SUM_HPP_
#define CAFFE_KERNELS_LOSS_LOSS_SUM_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// The divisor of a sum over positions: `fixed` or, if that is 0, the number of positions that are
/// not ignored (at least 1).
struct Normalizer {
  double fixed;
  const LabelCounts* counts;
};

/// loss[0] = sum of n losses / normalizer
template <typename Dtype>
void TotalLoss(const DeviceContext& context, int64_t n, const Dtype* losses,
               const Normalizer& normalizer, Dtype* loss);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_LOSS_SUM_HPP_
