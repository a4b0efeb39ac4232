#ifndef CAFFE_KERNELS_SOFTMAX_HPP_
#define CAFFE_KERNELS_SOFTMAX_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/labels.hpp"

namespace caffe {
namespace kernels {

/// y = exp(x - max) / sum of it, over the classes of each position. y may be x.
template <typename Dtype>
void SoftmaxForward(const DeviceContext& context, const ScoreShape& shape, const Dtype* x,
                    Dtype* y);
/// dx = (dy - sum over classes of y * dy) * y. dx may be y or dy.
template <typename Dtype>
void SoftmaxBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* y,
                     const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SOFTMAX_HPP_
