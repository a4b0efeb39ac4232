#ifndef CAFFE_KERNELS_MATH_ABSVAL_HPP_
#define CAFFE_KERNELS_MATH_ABSVAL_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/kernels/packed_codes.hpp"

namespace caffe {
namespace kernels {

/// Bits of a sign's code.
inline constexpr int kSignBits = 2;

/// y = |x|; y may alias x. `signs`, unless null, receives PackedBytes(n, kSignBits) bytes for the
/// backward pass.
template <typename Dtype>
void AbsValForward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y,
                   uint8_t* signs);
/// dx = sign(x) * dy, 0 where x is 0 or NaN; dx may alias x or dy.
template <typename Dtype>
void AbsValBackward(const DeviceContext& context, int64_t n, const Dtype* x, const Dtype* dy,
                    Dtype* dx);
/// AbsValBackward, from the signs of AbsValForward; dx may alias dy.
template <typename Dtype>
void AbsValBackwardFromSigns(const DeviceContext& context, int64_t n, const uint8_t* signs,
                             const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_ABSVAL_HPP_
