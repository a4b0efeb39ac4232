#ifndef CAFFE_KERNELS_ON_DEVICE_HPP_
#define CAFFE_KERNELS_ON_DEVICE_HPP_

#include "caffe/common.hpp"
#include "caffe/device_context.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace kernels {

/// The calling thread's device, whatever its mode: where functions called caffe_gpu_* work.
inline DeviceContext OnDevice() {
  layrub::Device& device = Caffe::device();
  return {true, device.LaunchesKernels(), device.stream(), &device};
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ON_DEVICE_HPP_
