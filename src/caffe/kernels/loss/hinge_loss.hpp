#ifndef CAFFE_KERNELS_LOSS_HINGE_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_HINGE_LOSS_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// The loss of a score is max(0, 1 - score) at the label and max(0, 1 + score) elsewhere, squared
/// if `squared`. losses[p] = the sum over the classes of position p; NaN if the label is not a
/// class.
template <typename Dtype>
void HingeLosses(const DeviceContext& context, const ScoreShape& shape, bool squared,
                 const Dtype* x, const Labels<Dtype>& labels, Dtype* losses);
/// dx = the derivative of (sum of losses) / positions, times weight[0]. dx may be x.
template <typename Dtype>
void HingeLossBackward(const DeviceContext& context, const ScoreShape& shape, bool squared,
                       const Dtype* x, const Labels<Dtype>& labels, const Dtype* weight, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_HINGE_LOSS_HPP_
