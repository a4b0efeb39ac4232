#ifndef CAFFE_KERNELS_LOSS_HINGE_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_HINGE_LOSS_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// A score costs max(0, 1 - score) at the label, max(0, 1 + score) elsewhere; squared if `squared`.
/// losses[p] = the sum over the classes of position p, not a number where the label is no class.
template <typename Dtype>
void HingeLosses(const DeviceContext& context, const ScoreShape& shape, bool squared,
                 const Dtype* x, const Labels<Dtype>& labels, Dtype* losses);
/// dx = derivative of the sum of losses / positions * weight[0]. dx may be x.
template <typename Dtype>
void HingeLossBackward(const DeviceContext& context, const ScoreShape& shape, bool squared,
                       const Dtype* x, const Labels<Dtype>& labels, const Dtype* weight, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_HINGE_LOSS_HPP_
