#ifndef CAFFE_KERNELS_LOSS_SOFTMAX_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_SOFTMAX_LOSS_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"
#include "caffe/kernels/loss/loss_sum.hpp"

namespace caffe {
namespace kernels {

/// losses[p] = -log(max(softmax of p at its label, smallest normal float)), 0 where the label is
/// ignored, NaN where it is not a class. It is multiplied by class_weights[label] unless
/// class_weights is null. `prob` is the softmax of x. If it is null, it is computed from x with the
/// same result.
template <typename Dtype>
void SoftmaxLosses(const DeviceContext& context, const ScoreShape& shape, const Dtype* x,
                   const Dtype* prob, const Labels<Dtype>& labels, const Dtype* class_weights,
                   Dtype* losses);
/// dx = (prob - 1 at the label) * scale, 0 where the label is ignored. It is multiplied by
/// class_weights[label] unless class_weights is null. dx may be prob.
template <typename Dtype>
void SoftmaxLossBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* prob,
                         const Labels<Dtype>& labels, const LossScale<Dtype>& scale,
                         const Dtype* class_weights, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_SOFTMAX_LOSS_HPP_
