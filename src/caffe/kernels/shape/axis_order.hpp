#ifndef CAFFE_KERNELS_SHAPE_AXIS_ORDER_HPP_
#define CAFFE_KERNELS_SHAPE_AXIS_ORDER_HPP_

#include <cstdint>
#include <vector>

#include "caffe/device_context.hpp"
#include "caffe/util/max_blob_axes.hpp"

namespace caffe {
namespace kernels {

/// An array read with its axes in another order: along axis k (at least one) the result has `size`
/// values, which are `stride` apart in the array.
struct AxisOrder {
  int axes = 0;
  int size[kMaxBlobAxes] = {};
  int64_t stride[kMaxBlobAxes] = {};
};

/// Axis k of the result is axis order[k] of an array of `dims`. Axes that stay adjacent are merged.
/// `order` must contain each axis once.
AxisOrder AxesInOrder(const std::vector<int>& dims, const std::vector<int>& order);

/// y = x in that order.
template <typename Dtype>
void ReorderAxes(const DeviceContext& context, const AxisOrder& order, const Dtype* x, Dtype* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SHAPE_AXIS_ORDER_HPP_
