#ifndef CAFFE_KERNELS_SOFTMAX_LOSS_HPP_
#define CAFFE_KERNELS_SOFTMAX_LOSS_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/labels.hpp"

namespace caffe {
namespace kernels {

/// What a sum over positions is divided by: `fixed`, or, when that is 0, the number of positions
/// that are not ignored (at least 1).
struct Normalizer {
  double fixed;
  const LabelCounts* counts;
};

/// losses[p] = -log(max(softmax of p at its label, smallest normal float)), 0 where the label is
/// ignored, not a number where it is no class. `prob` is the softmax of x, or null: derived from x
/// with the same result.
template <typename Dtype>
void SoftmaxLosses(const DeviceContext& context, const ScoreShape& shape, const Dtype* x,
                   const Dtype* prob, const Labels<Dtype>& labels, Dtype* losses);
/// loss[0] = sum of losses / normalizer
template <typename Dtype>
void TotalLoss(const DeviceContext& context, const ScoreShape& shape, const Dtype* losses,
               const Normalizer& normalizer, Dtype* loss);
/// dx = (prob - 1 at the label) * weight[0] / normalizer, 0 where the label is ignored. dx may be
/// prob.
template <typename Dtype>
void SoftmaxLossBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* prob,
                         const Labels<Dtype>& labels, const Normalizer& normalizer,
                         const Dtype* weight, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SOFTMAX_LOSS_HPP_
