#ifndef CAFFE_KERNELS_BIAS_HPP_
#define CAFFE_KERNELS_BIAS_HPP_

#include <cstdint>

#include "caffe/kernels/accumulator.hpp"

namespace caffe {
namespace kernels {

// All arrays but the bias are outer x channels x inner; that has one value per channel.

/// y = x + bias; y may be x.
template <typename Dtype>
void BiasForward(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                 const Dtype* x, const Dtype* bias, Dtype* y);
/// Adds the sum of dy over channel c to dbias[c].
template <typename Dtype>
void BiasGradient(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                  const Dtype* dy, const Accumulator<Dtype>& dbias);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_BIAS_HPP_
