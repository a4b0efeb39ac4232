#ifndef CAFFE_KERNELS_MATH_ABSVAL_HPP_
#define CAFFE_KERNELS_MATH_ABSVAL_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/kernels/packed_codes.hpp"

namespace caffe {
namespace kernels {

/// Bits of the code of a sign.
inline constexpr int kSignBits = 2;

/// y = |x|; y may lie on x. `signs`, unless null, receives PackedBytes(n, kSignBits) bytes for the
/// backward.
template <typename Dtype>
void AbsValForward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y,
                   uint8_t* signs);
/// dx = sign(x) * dy, 0 where x is 0 or not a number; dx may lie on x or dy.
template <typename Dtype>
void AbsValBackward(const DeviceContext& context, int64_t n, const Dtype* x, const Dtype* dy,
                    Dtype* dx);
/// The same from the signs of AbsValForward; dx may lie on dy.
template <typename Dtype>
void AbsValBackwardFromSigns(const DeviceContext& context, int64_t n, const uint8_t* signs,
                             const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_ABSVAL_HPP_
