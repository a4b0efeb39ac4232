#ifndef CAFFE_KERNELS_BIAS_HPP_
#define CAFFE_KERNELS_BIAS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

// All arrays but the bias are outer x channels x inner; that has one value per channel.

/// y = x + bias; y may be x.
template <typename Dtype>
void BiasForward(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                 const Dtype* x, const Dtype* bias, Dtype* y);
/// dbias[c] = (accumulate ? dbias[c] : 0) + the sum of dy over channel c.
template <typename Dtype>
void BiasGradient(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                  const Dtype* dy, bool accumulate, Dtype* dbias);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_BIAS_HPP_
