#ifndef CAFFE_KERNELS_POOLING_INTERP_HPP_
#define CAFFE_KERNELS_POOLING_INTERP_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// Interpolates a part of each of `planes` planes (height x width): from_height x from_width
/// values, starting at (top, left), become to_height x to_width values. The first and last rows and
/// columns of source and result coincide.
struct Interpolation {
  int64_t planes = 0;
  int height = 0, width = 0;
  int top = 0, left = 0;
  int from_height = 0, from_width = 0;
  int to_height = 0, to_width = 0;
};

/// y = bilinear interpolation of x.
template <typename Dtype>
void InterpForward(const DeviceContext& context, const Interpolation& map, const Dtype* x,
                   Dtype* y);
/// dx = the gradient; 0 outside the part.
template <typename Dtype>
void InterpBackward(const DeviceContext& context, const Interpolation& map, const Dtype* dy,
                    Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_INTERP_HPP_
