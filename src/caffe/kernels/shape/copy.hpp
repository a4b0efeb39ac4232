#ifndef CAFFE_KERNELS_SHAPE_COPY_HPP_
#define CAFFE_KERNELS_SHAPE_COPY_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// Row r of `to` (at to + r * to_stride) = row r of `from`, `width` values each. No overlap.
template <typename Dtype>
void CopyRows(const DeviceContext& context, int64_t rows, int64_t width, const Dtype* from,
              int64_t from_stride, Dtype* to, int64_t to_stride);

/// Copies n values. Does nothing if from == to; any other overlap is not allowed.
template <typename Dtype>
void Copy(const DeviceContext& context, int64_t n, const Dtype* from, Dtype* to);

/// to[0..n) = value.
template <typename Dtype>
void Fill(const DeviceContext& context, int64_t n, Dtype value, Dtype* to);

/// Copies n values from host memory to the memory of the context. Synchronous.
template <typename Dtype>
void CopyFromHost(const DeviceContext& context, int64_t n, const Dtype* from, Dtype* to);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SHAPE_COPY_HPP_
