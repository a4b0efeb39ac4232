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

/// What the gradient of the loss of a position is multiplied by.
template <typename Dtype>
struct LossScale {
  const Dtype* weight;    ///< of all positions, divided by `normalizer`; if `each`, by position
  Normalizer normalizer;  ///< not used if `each`
  bool each = false;
};

/// loss[0] = sum of n losses / normalizer
template <typename Dtype>
void TotalLoss(const DeviceContext& context, int64_t n, const Dtype* losses,
               const Normalizer& normalizer, Dtype* loss);
/// dlosses[p] = weight[0] / normalizer for n positions: what LossScale is in their backward.
template <typename Dtype>
void TotalLossBackward(const DeviceContext& context, int64_t n, const Dtype* weight,
                       const Normalizer& normalizer, Dtype* dlosses);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_LOSS_SUM_HPP_
