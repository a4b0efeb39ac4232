#ifndef CAFFE_KERNELS_SHAPE_TILE_HPP_
#define CAFFE_KERNELS_SHAPE_TILE_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = each of the `rows` rows of x, `width` values long, repeated `tiles` times in succession.
template <typename Dtype>
void TileForward(const DeviceContext& context, int64_t rows, int64_t width, int64_t tiles,
                 const Dtype* x, Dtype* y);
/// dx = the sum over the tiles of dy, in order.
template <typename Dtype>
void TileBackward(const DeviceContext& context, int64_t rows, int64_t width, int64_t tiles,
                  const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SHAPE_TILE_HPP_
