#ifndef CAFFE_KERNELS_ACTIVATION_ACTIVATION_HPP_
#define CAFFE_KERNELS_ACTIVATION_ACTIVATION_HPP_

// Elementwise activations. Outputs may alias inputs of the same element type.

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = x where x >= 0, slope * x elsewhere. `mask`, unless null, receives one bit per value
/// (PackedBytes(n, 1) bytes): x > 0.
template <typename Dtype>
void ReluForward(const DeviceContext& context, int64_t n, Dtype slope, const Dtype* x, Dtype* y,
                 uint8_t* mask);
/// dx = dy where `source` > 0, slope * dy elsewhere. `source` is x, or y when slope >= 0.
template <typename Dtype>
void ReluBackward(const DeviceContext& context, int64_t n, Dtype slope, const Dtype* source,
                  const Dtype* dy, Dtype* dx);
/// ReluBackward, from the mask of ReluForward.
template <typename Dtype>
void ReluBackwardFromMask(const DeviceContext& context, int64_t n, Dtype slope, const uint8_t* mask,
                          const Dtype* dy, Dtype* dx);

/// y = 1 / (1 + exp(-x))
template <typename Dtype>
void SigmoidForward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y);
/// dx = dy * y * (1 - y)
template <typename Dtype>
void SigmoidBackward(const DeviceContext& context, int64_t n, const Dtype* y, const Dtype* dy,
                     Dtype* dx);

/// y = tanh(x)
template <typename Dtype>
void TanhForward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y);
/// dx = dy * (1 - y * y)
template <typename Dtype>
void TanhBackward(const DeviceContext& context, int64_t n, const Dtype* y, const Dtype* dy,
                  Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_ACTIVATION_HPP_
