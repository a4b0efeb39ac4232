#ifndef CAFFE_KERNELS_POOLING_STOCHASTIC_POOLING_HPP_
#define CAFFE_KERNELS_POOLING_STOCHASTIC_POOLING_HPP_

#include <cstdint>

#include "caffe/kernels/pooling/pooling.hpp"

namespace caffe {
namespace kernels {

// M. Zeiler and R. Fergus, Stochastic Pooling for Regularization of Deep Convolutional Neural
// Networks, 2013. Values should not be negative; windows have no padding.

/// y = a random value of each window, drawn with a probability proportional to the value. If all
/// values are zero it is the first one; for a window outside the plane y is 0. `key` starts the
/// random stream. `index`, unless null, receives the value's place in its window as in
/// MaxPoolForward, so MaxPoolBackward computes the gradient.
template <typename Dtype>
void StochasticPoolForward(const DeviceContext& context, const PoolingWindow& window, uint64_t key,
                           const Dtype* x, Dtype* y, void* index);

/// y = the expected value of each window: its values, each weighted by its share of their sum; 0
/// for a window of zeros.
template <typename Dtype>
void ExpectedPoolForward(const DeviceContext& context, const PoolingWindow& window, const Dtype* x,
                         Dtype* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_STOCHASTIC_POOLING_HPP_
