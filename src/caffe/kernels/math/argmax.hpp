#ifndef CAFFE_KERNELS_MATH_ARGMAX_HPP_
#define CAFFE_KERNELS_MATH_ARGMAX_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// Writes the `top_k` highest scores of each position to `values` and their classes to `classes`,
/// highest first. Of equal scores the higher class comes first; NaN comes before all others. The
/// k-th entry of position (o, i) is at (o * stride + k) * inner + i. Either output may be null.
template <typename Dtype>
void HighestScores(const DeviceContext& context, const ScoreShape& shape, int64_t top_k,
                   const Dtype* scores, int64_t stride, Dtype* classes, Dtype* values);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_ARGMAX_HPP_
