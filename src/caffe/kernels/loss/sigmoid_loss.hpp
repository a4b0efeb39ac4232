#ifndef CAFFE_KERNELS_LOSS_SIGMOID_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_SIGMOID_LOSS_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"
#include "caffe/kernels/loss/loss_sum.hpp"

namespace caffe {
namespace kernels {

// Targets are probabilities, one for each of n scores. A target that equals `ignore` after
// truncation to an integer does not count.

/// The number of sums that SigmoidLosses writes.
int64_t SigmoidLossSums(int64_t n);
/// sums[k] = the sum of -(t * log(s) + (1 - t) * log(1 - s)), with s = 1 / (1 + exp(-x)), over the
/// values of stretch k that are not ignored.
template <typename Dtype>
void SigmoidLosses(const DeviceContext& context, int64_t n, const Dtype* x,
                   const Labels<Dtype>& targets, Dtype* sums);
/// counts->counted = targets that are not ignored; none is out of range.
template <typename Dtype>
void CountTargets(const DeviceContext& context, int64_t n, const Labels<Dtype>& targets,
                  LabelCounts* counts);
/// dx = (s - t) * weight[0] / normalizer, 0 where ignored. `source` is x, or s if `is_sigmoid`. dx
/// may be `source` or the targets.
template <typename Dtype>
void SigmoidLossBackward(const DeviceContext& context, int64_t n, const Dtype* source,
                         bool is_sigmoid, const Labels<Dtype>& targets,
                         const Normalizer& normalizer, const Dtype* weight, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_SIGMOID_LOSS_HPP_
