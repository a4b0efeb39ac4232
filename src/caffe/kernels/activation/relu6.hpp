#ifndef CAFFE_KERNELS_ACTIVATION_RELU6_HPP_
#define CAFFE_KERNELS_ACTIVATION_RELU6_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = min(max(x, 0), 6), NaN where x is NaN; y may alias x. `inside`, unless null, receives one
/// bit per value (PackedBytes(n, 1) bytes): 0 < x < 6.
template <typename Dtype>
void Relu6Forward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y,
                  uint8_t* inside);
/// dx = dy where 0 < v < 6, else 0 * dy, with v either x or y; dx may alias v or dy.
template <typename Dtype>
void Relu6Backward(const DeviceContext& context, int64_t n, const Dtype* v, const Dtype* dy,
                   Dtype* dx);
/// Relu6Backward, from the bits of Relu6Forward; dx may alias dy.
template <typename Dtype>
void Relu6BackwardFromMask(const DeviceContext& context, int64_t n, const uint8_t* inside,
                           const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_RELU6_HPP_
