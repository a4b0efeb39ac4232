#ifndef CAFFE_KERNELS_MATH_ARGMAX_HPP_
#define CAFFE_KERNELS_MATH_ARGMAX_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// The `top_k` highest scores of each position, highest first; of equal ones that of the higher
/// class, and not-a-number before all others. The k-th of position (o, i) is at
/// (o * stride + k) * inner + i of `classes` and of `values`, where they are not null.
template <typename Dtype>
void HighestScores(const DeviceContext& context, const ScoreShape& shape, int64_t top_k,
                   const Dtype* scores, int64_t stride, Dtype* classes, Dtype* values);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_ARGMAX_HPP_
