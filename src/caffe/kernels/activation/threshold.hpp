#ifndef CAFFE_KERNELS_ACTIVATION_THRESHOLD_HPP_
#define CAFFE_KERNELS_ACTIVATION_THRESHOLD_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = 1 where x > threshold, else 0; y may alias x.
template <typename Dtype>
void ThresholdForward(const DeviceContext& context, int64_t n, Dtype threshold, const Dtype* x,
                      Dtype* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_THRESHOLD_HPP_
