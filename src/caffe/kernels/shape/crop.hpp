#ifndef CAFFE_KERNELS_SHAPE_CROP_HPP_
#define CAFFE_KERNELS_SHAPE_CROP_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/util/max_blob_axes.hpp"

namespace caffe {
namespace kernels {

/// A box in an array of `dims`: along each of `axes` axes (at least 1), `size` elements from
/// `offset` on.
struct Box {
  int axes = 0;
  int dims[kMaxBlobAxes] = {};
  int offset[kMaxBlobAxes] = {};
  int size[kMaxBlobAxes] = {};
};

/// y = the values of x, an array of box.dims, in the box. No overlap.
template <typename Dtype>
void CropForward(const DeviceContext& context, const Box& box, const Dtype* x, Dtype* y);
/// dx = dy in the box, 0 around it. No overlap.
template <typename Dtype>
void CropBackward(const DeviceContext& context, const Box& box, const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SHAPE_CROP_HPP_
