#ifndef CAFFE_KERNELS_MATH_SCALE_HPP_
#define CAFFE_KERNELS_MATH_SCALE_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/kernels/accumulator.hpp"

namespace caffe {
namespace kernels {

// All arrays have shape outer x channels x inner, except the scale and the bias, which have one
// value per channel.

/// y = x * scale + bias, or x * scale if `bias` is null. `copy`, unless null, receives x. y or copy
/// may be x.
template <typename Dtype>
void ScaleForward(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                  const Dtype* x, const Dtype* scale, const Dtype* bias, Dtype* y, Dtype* copy);
/// The gradients of ScaleForward, except those whose pointer is null. Adds the sum of dy * x over
/// channel c to dscale[c], the sum of dy to dbias[c]; dx = dy * scale. x may be null if dscale is;
/// dx may be dy or x.
template <typename Dtype>
void ScaleBackward(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                   const Dtype* dy, const Dtype* x, const Dtype* scale,
                   const Accumulator<Dtype>& dscale, const Accumulator<Dtype>& dbias, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_SCALE_HPP_
