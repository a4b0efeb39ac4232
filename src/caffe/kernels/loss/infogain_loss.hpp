#ifndef CAFFE_KERNELS_LOSS_INFOGAIN_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_INFOGAIN_LOSS_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"
#include "caffe/kernels/loss/loss_sum.hpp"

namespace caffe {
namespace kernels {

// `gain` is a classes x classes matrix; row l holds the weights of the classes for label l.

/// losses[p] = -sum over classes c of gain[label of p][c] * log(max(softmax of p at c, least)), 0
/// where the label is ignored, NaN where it is not a class. `prob` is the softmax of x. If it is
/// null, it is computed from x with the same result.
template <typename Dtype>
void InfogainLosses(const DeviceContext& context, const ScoreShape& shape, Dtype least,
                    const Dtype* x, const Dtype* prob, const Labels<Dtype>& labels,
                    const Dtype* gain, Dtype* losses);
/// dx = the derivative of the sum of losses * scale with respect to x. 0 where the label is
/// ignored, NaN where it is not a class. dx may be prob.
template <typename Dtype>
void InfogainLossBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* prob,
                          const Labels<Dtype>& labels, const Dtype* gain,
                          const LossScale<Dtype>& scale, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_INFOGAIN_LOSS_HPP_
