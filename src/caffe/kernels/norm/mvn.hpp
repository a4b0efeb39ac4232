#ifndef CAFFE_KERNELS_NORM_MVN_HPP_
#define CAFFE_KERNELS_NORM_MVN_HPP_

// What mean-variance normalisation needs besides the loops of batch_norm.hpp.

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = x less the mean of its row, for rows of `length` values; y may lie on x. `means`: workspace
/// for one value per row.
template <typename Dtype>
void SubtractMeans(const DeviceContext& context, int64_t rows, int64_t length, const Dtype* x,
                   Dtype* y, Dtype* means);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_NORM_MVN_HPP_
