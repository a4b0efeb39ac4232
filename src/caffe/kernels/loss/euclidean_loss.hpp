#ifndef CAFFE_KERNELS_LOSS_EUCLIDEAN_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_EUCLIDEAN_LOSS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// loss = sum of (a - b)^2 / (2 * samples), over n values; 0 if there are no samples.
template <typename Dtype>
void EuclideanLossForward(const DeviceContext& context, int64_t n, int64_t samples, const Dtype* a,
                          const Dtype* b, Dtype* loss);

/// da = weight * (a - b) / samples and db = -da; each may be null. With `b` null, `a` holds the
/// differences. Either may alias an input other than `weight`, a single value.
template <typename Dtype>
void EuclideanLossBackward(const DeviceContext& context, int64_t n, int64_t samples, const Dtype* a,
                           const Dtype* b, const Dtype* weight, Dtype* da, Dtype* db);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_EUCLIDEAN_LOSS_HPP_
