#ifndef CAFFE_KERNELS_ACTIVATION_SWISH_HPP_
#define CAFFE_KERNELS_ACTIVATION_SWISH_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = x / (1 + exp(-beta * x)); y may alias x. `copy`, unless null, receives x.
template <typename Dtype>
void SwishForward(const DeviceContext& context, int64_t n, Dtype beta, const Dtype* x, Dtype* y,
                  Dtype* copy);
/// dx = dy * (beta * y + s * (1 - beta * y)) with s = y / x; dx may alias x or dy.
template <typename Dtype>
void SwishBackward(const DeviceContext& context, int64_t n, Dtype beta, const Dtype* x,
                   const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_SWISH_HPP_
