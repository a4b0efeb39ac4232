#ifndef CAFFE_KERNELS_LOSS_MULTINOMIAL_LOGISTIC_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_MULTINOMIAL_LOGISTIC_LOSS_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// losses[p] = -log(max(prob of p at its label, least)), NaN where the label is not a class.
template <typename Dtype>
void LogisticLosses(const DeviceContext& context, const ScoreShape& shape, Dtype least,
                    const Dtype* prob, const Labels<Dtype>& labels, Dtype* losses);
/// dx = -weight[0] / positions / max(prob, least) at the label, 0 elsewhere. dx may be prob.
template <typename Dtype>
void LogisticLossBackward(const DeviceContext& context, const ScoreShape& shape, Dtype least,
                          const Dtype* prob, const Labels<Dtype>& labels, const Dtype* weight,
                          Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_MULTINOMIAL_LOGISTIC_LOSS_HPP_
