#ifndef CAFFE_KERNELS_POOLING_UPSAMPLE_HPP_
#define CAFFE_KERNELS_POOLING_UPSAMPLE_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = planes of height x width values, each repeated scale_h x scale_w times.
template <typename Dtype>
void RepeatForward(const DeviceContext& context, int64_t planes, int height, int width, int scale_h,
                   int scale_w, const Dtype* x, Dtype* y);
/// dx = for each value, the sum of dy over its copies.
template <typename Dtype>
void RepeatBackward(const DeviceContext& context, int64_t planes, int height, int width,
                    int scale_h, int scale_w, const Dtype* dy, Dtype* dx);

// The values of a mask are places in a plane of `size` values, 0 to size - 1. Other values name no
// place.

/// In each plane of y, y[mask[i]] = x[i] for the plane's `count` values i = 0, 1, ..., in this
/// order on every device; 0 elsewhere.
template <typename Dtype>
void PlaceForward(const DeviceContext& context, int64_t planes, int64_t count, int64_t size,
                  const Dtype* x, const Dtype* mask, Dtype* y);
/// dx[i] = dy[mask[i]]; 0 where the mask names no place.
template <typename Dtype>
void PlaceBackward(const DeviceContext& context, int64_t planes, int64_t count, int64_t size,
                   const Dtype* mask, const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_UPSAMPLE_HPP_
