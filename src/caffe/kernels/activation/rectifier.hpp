#ifndef CAFFE_KERNELS_ACTIVATION_RECTIFIER_HPP_
#define CAFFE_KERNELS_ACTIVATION_RECTIFIER_HPP_

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// x where x >= 0, slope * x elsewhere. NaN stays NaN, and minus infinity gives 0 with slope 0.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline Dtype Relu(Dtype x, Dtype slope) {
  return x < 0 ? (slope == 0 ? Dtype(0) : slope * x) : x;
}

/// The derivative of Relu times dy; `positive`: x > 0.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline Dtype ReluGradient(bool positive, Dtype slope, Dtype dy) {
  return positive ? dy : slope * dy;
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_RECTIFIER_HPP_
