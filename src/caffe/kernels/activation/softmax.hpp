#ifndef CAFFE_KERNELS_ACTIVATION_SOFTMAX_HPP_
#define CAFFE_KERNELS_ACTIVATION_SOFTMAX_HPP_

#include <vector>

#include "caffe/kernels/engines.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// y = exp(x - max) / sum of it, over the classes of each position. y may be x.
template <typename Dtype>
void SoftmaxForward(const DeviceContext& context, const ScoreShape& shape, const Dtype* x, Dtype* y,
                    const AlgorithmScratch& scratch = {});
/// dx = (dy - sum over classes of y * dy) * y. dx may be y or dy.
template <typename Dtype>
void SoftmaxBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* y,
                     const Dtype* dy, Dtype* dx, const AlgorithmScratch& scratch = {});
/// The choices for one or the other (ChooseRival). The library's have room for a result that lies
/// on x or y.
template <typename Dtype>
std::vector<Workspace> SoftmaxEngines(const DeviceContext& context, const ScoreShape& shape,
                                      bool backward);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_SOFTMAX_HPP_
