#ifndef CAFFE_KERNELS_MATH_BIAS_HPP_
#define CAFFE_KERNELS_MATH_BIAS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/kernels/accumulator.hpp"
#include "caffe/util/channel_shape.hpp"

namespace caffe {
namespace kernels {

// All arrays except the bias have shape `shape`; the bias has one value per channel.

/// y = x + bias; y may be x.
template <typename Dtype>
void BiasForward(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                 const Dtype* bias, Dtype* y);
/// Adds the sum of dy over channel c to dbias[c].
template <typename Dtype>
void BiasGradient(const DeviceContext& context, const ChannelShape& shape, const Dtype* dy,
                  const Accumulator<Dtype>& dbias);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_BIAS_HPP_
