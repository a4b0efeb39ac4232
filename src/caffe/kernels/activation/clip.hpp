#ifndef CAFFE_KERNELS_ACTIVATION_CLIP_HPP_
#define CAFFE_KERNELS_ACTIVATION_CLIP_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = max(low, min(x, high)), NaN where x is NaN; y may alias x. `inside`, unless null, receives
/// one bit per value (PackedBytes(n, 1) bytes): low <= x <= high.
template <typename Dtype>
void ClipForward(const DeviceContext& context, int64_t n, Dtype low, Dtype high, const Dtype* x,
                 Dtype* y, uint8_t* inside);
/// dx = dy where low <= x <= high, else 0 * dy; dx may alias x or dy.
template <typename Dtype>
void ClipBackward(const DeviceContext& context, int64_t n, Dtype low, Dtype high, const Dtype* x,
                  const Dtype* dy, Dtype* dx);
/// ClipBackward, from the bits of ClipForward; dx may alias dy.
template <typename Dtype>
void ClipBackwardFromMask(const DeviceContext& context, int64_t n, const uint8_t* inside,
                          const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_CLIP_HPP_
