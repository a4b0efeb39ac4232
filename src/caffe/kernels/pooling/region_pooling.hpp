#ifndef CAFFE_KERNELS_POOLING_REGION_POOLING_HPP_
#define CAFFE_KERNELS_POOLING_REGION_POOLING_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// Regions of items x channels x height x width maps, each pooled to pooled_h x pooled_w bins of
/// `outputs` channels. A region is five values: the item's number and x1, y1, x2, y2 in pixels of
/// an image that is 1 / scale times as large as the map. A region whose item does not exist has NaN
/// values and no gradient.
template <typename Dtype>
struct RegionPooling {
  int items = 0, channels = 0, height = 0, width = 0;
  int64_t regions = 0;
  int outputs = 0, pooled_h = 0, pooled_w = 0;
  Dtype scale = 1;
};

/// y = the largest value of each bin, 0 if it is empty. Corners are rounded to whole places of the
/// map, a region is at least one place wide, and channel c of y is pooled from channel c. `index`,
/// unless null, receives the value's place in its plane (row * width + column), -1 for none.
template <typename Dtype>
void MaxPoolRegions(const DeviceContext& context, const RegionPooling<Dtype>& pooling,
                    const Dtype* x, const Dtype* regions, Dtype* y, int32_t* index);
/// dx = the gradient, summed in the order of the regions.
template <typename Dtype>
void MaxPoolRegionsBackward(const DeviceContext& context, const RegionPooling<Dtype>& pooling,
                            const Dtype* dy, const Dtype* regions, const int32_t* index, Dtype* dx);

/// y = the mean of each bin, 0 if it is empty. A region extends from round(x1) * scale to
/// (round(x2) + 1) * scale and is at least 0.1 wide. Bin (i, j) of channel c of y is pooled from
/// channel (c * pooled_h + i) * pooled_w + j.
template <typename Dtype>
void AveragePoolRegionParts(const DeviceContext& context, const RegionPooling<Dtype>& pooling,
                            const Dtype* x, const Dtype* regions, Dtype* y);
template <typename Dtype>
void AveragePoolRegionPartsBackward(const DeviceContext& context,
                                    const RegionPooling<Dtype>& pooling, const Dtype* dy,
                                    const Dtype* regions, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_REGION_POOLING_HPP_
