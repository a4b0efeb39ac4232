#ifndef CAFFE_KERNELS_MATH_POWER_HPP_
#define CAFFE_KERNELS_MATH_POWER_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = (shift + scale * x) ^ power
template <typename Dtype>
struct PowerFunction {
  Dtype power;
  Dtype scale;
  Dtype shift;

  /// The constant factor of the derivative.
  Dtype Slope() const { return power * scale; }
  /// The derivative is Slope() everywhere.
  bool IsLinear() const { return Slope() == 0 || power == 1; }
  /// Whether the derivative can be computed from y alone, as Slope() times an integer power of y.
  /// With another exponent the sign of shift + scale * x would be lost.
  bool DerivesFromY() const;
};

/// y may alias x. `copy`, unless null, receives x.
template <typename Dtype>
void PowerForward(const DeviceContext& context, int64_t n, const PowerFunction<Dtype>& function,
                  const Dtype* x, Dtype* y, Dtype* copy);

/// dx for a function that is not linear. dx may alias x or dy.
template <typename Dtype>
void PowerBackward(const DeviceContext& context, int64_t n, const PowerFunction<Dtype>& function,
                   const Dtype* x, const Dtype* dy, Dtype* dx);
/// Computes the same bits as PowerBackward, from y, for a function that DerivesFromY. dx may alias
/// y or dy.
template <typename Dtype>
void PowerBackwardFromY(const DeviceContext& context, int64_t n,
                        const PowerFunction<Dtype>& function, const Dtype* y, const Dtype* dy,
                        Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_POWER_HPP_
