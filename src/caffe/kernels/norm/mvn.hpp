#ifndef CAFFE_KERNELS_NORM_MVN_HPP_
#define CAFFE_KERNELS_NORM_MVN_HPP_

// The part of mean-variance normalisation that batch_norm.hpp does not have.

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = x minus the mean of its row, for rows of `length` values; y may alias x. `means` is
/// workspace with one value per row.
template <typename Dtype>
void SubtractMeans(const DeviceContext& context, int64_t rows, int64_t length, const Dtype* x,
                   Dtype* y, Dtype* means);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_NORM_MVN_HPP_
