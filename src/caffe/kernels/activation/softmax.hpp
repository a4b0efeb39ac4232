#ifndef CAFFE_KERNELS_ACTIVATION_SOFTMAX_HPP_
#define CAFFE_KERNELS_ACTIVATION_SOFTMAX_HPP_

#include <vector>

#include "caffe/kernels/engines.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// y = exp(x - max) / sum of exp(x - max), over the classes of each position. y may be x.
template <typename Dtype>
void SoftmaxForward(const DeviceContext& context, const ScoreShape& shape, const Dtype* x, Dtype* y,
                    const AlgorithmRun& chosen = {});
/// dx = (dy - sum over classes of y * dy) * y. dx may be y or dy.
template <typename Dtype>
void SoftmaxBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* y,
                     const Dtype* dy, Dtype* dx, const AlgorithmRun& chosen = {});
/// The algorithms of SoftmaxForward or, if `backward`, SoftmaxBackward (ChooseRival). The library's
/// workspace holds the result if that aliases x or y.
template <typename Dtype>
std::vector<Algorithm> SoftmaxEngines(const DeviceContext& context, const ScoreShape& shape,
                                      bool backward);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_SOFTMAX_HPP_
