#ifndef CAFFE_KERNELS_ACTIVATION_PRELU_HPP_
#define CAFFE_KERNELS_ACTIVATION_PRELU_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// An array of outer x channels x inner values. It has one slope per channel or, if `shared`, a
/// single slope.
struct PReluShape {
  int64_t outer = 0;
  int64_t channels = 0;
  int64_t inner = 0;
  bool shared = false;
};

/// y = x where x > 0, slope * x elsewhere; y may alias x. `copy`, unless null, receives x.
template <typename Dtype>
void PReluForward(const DeviceContext& context, const PReluShape& shape, const Dtype* slope,
                  const Dtype* x, Dtype* y, Dtype* copy);
/// dx = dy where x > 0, slope * dy elsewhere; dx may alias x or dy.
template <typename Dtype>
void PReluBackward(const DeviceContext& context, const PReluShape& shape, const Dtype* slope,
                   const Dtype* x, const Dtype* dy, Dtype* dx);

/// Number of values in the workspace of PReluSlopeGradient.
constexpr int64_t PReluWorkspace(const PReluShape& shape) { return shape.shared ? shape.outer : 0; }
/// dslope += the sum of dy * x over the slope's values x that are not positive, in an order that
/// depends only on the sizes.
template <typename Dtype>
void PReluSlopeGradient(const DeviceContext& context, const PReluShape& shape, const Dtype* x,
                        const Dtype* dy, Dtype* dslope, Dtype* workspace);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_PRELU_HPP_
