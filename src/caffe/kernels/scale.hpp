#ifndef CAFFE_KERNELS_SCALE_HPP_
#define CAFFE_KERNELS_SCALE_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

// All arrays but the scale and the bias are outer x channels x inner; those have one value per
// channel.

/// y = x * scale + bias, without a bias where that is null. `copy`, unless null, receives x. y or
/// copy may be x.
template <typename Dtype>
void ScaleForward(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                  const Dtype* x, const Dtype* scale, const Dtype* bias, Dtype* y, Dtype* copy);
/// dx = dy * scale. dx may be dy.
template <typename Dtype>
void ScaleBackwardData(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                       const Dtype* dy, const Dtype* scale, Dtype* dx);
/// dscale[c] = (accumulate ? dscale[c] : 0) + the sum of dy * x over channel c.
template <typename Dtype>
void ScaleGradient(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                   const Dtype* dy, const Dtype* x, bool accumulate, Dtype* dscale);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SCALE_HPP_
