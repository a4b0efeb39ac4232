#ifndef CAFFE_KERNELS_POOLING_STOCHASTIC_POOLING_HPP_
#define CAFFE_KERNELS_POOLING_STOCHASTIC_POOLING_HPP_

#include <cstdint>

#include "caffe/kernels/pooling/pooling.hpp"

namespace caffe {
namespace kernels {

// M. Zeiler and R. Fergus, Stochastic Pooling for Regularization of Deep Convolutional Neural
// Networks, 2013. Values are meant to be 0 or more; windows have no padding.

/// y = a value of each window, drawn with a probability that is its share of their sum; the first
/// one of a window of zeros, 0 for a window behind the plane. `key` begins the stream of random
/// numbers. `index`, unless null, receives the value's place in its window as that of
/// MaxPoolForward, so MaxPoolBackward is the gradient.
template <typename Dtype>
void StochasticPoolForward(const DeviceContext& context, const PoolingWindow& window, uint64_t key,
                           const Dtype* x, Dtype* y, void* index);

/// y = what is to be expected of each window: its values, each weighted by its share of their sum;
/// 0 for a window of zeros.
template <typename Dtype>
void ExpectedPoolForward(const DeviceContext& context, const PoolingWindow& window, const Dtype* x,
                         Dtype* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_STOCHASTIC_POOLING_HPP_
