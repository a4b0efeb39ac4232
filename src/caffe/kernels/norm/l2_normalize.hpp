#ifndef CAFFE_KERNELS_NORM_L2_NORMALIZE_HPP_
#define CAFFE_KERNELS_NORM_L2_NORMALIZE_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// An array of outer x channels x inner values. Each of the outer x inner positions has a norm over
/// its channels or, if `whole_items`, each of the outer items has one norm. Each channel has a
/// scale or, if `shared_scale`, there is a single one.
struct L2Shape {
  int64_t outer = 0;
  int64_t channels = 0;
  int64_t inner = 0;
  bool whole_items = false;
  bool shared_scale = false;
  constexpr int64_t Norms() const { return whole_items ? outer : outer * inner; }
};

/// inverse = 1 / sqrt(epsilon + the sum of the squares of x), for each norm.
template <typename Dtype>
void InverseL2Norms(const DeviceContext& context, const L2Shape& shape, Dtype epsilon,
                    const Dtype* x, Dtype* inverse);

/// y = scale * x * inverse; y may alias x. `copy`, unless null, receives x.
template <typename Dtype>
void L2NormalizeForward(const DeviceContext& context, const L2Shape& shape, const Dtype* x,
                        const Dtype* inverse, const Dtype* scale, Dtype* y, Dtype* copy);

/// dx = inverse * (scale * dy - x * inverse^2 * the norm's sum of scale * dy * x). `workspace`:
/// shape.Norms() values. dx may alias x or dy.
template <typename Dtype>
void L2NormalizeBackward(const DeviceContext& context, const L2Shape& shape, const Dtype* x,
                         const Dtype* inverse, const Dtype* scale, const Dtype* dy, Dtype* dx,
                         Dtype* workspace);

/// dscale += the sum of dy * x * inverse over the scale's values. `workspace` has shape.outer
/// values if the scale is shared.
template <typename Dtype>
void L2ScaleGradient(const DeviceContext& context, const L2Shape& shape, const Dtype* x,
                     const Dtype* inverse, const Dtype* dy, Dtype* dscale, Dtype* workspace);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_NORM_L2_NORMALIZE_HPP_
