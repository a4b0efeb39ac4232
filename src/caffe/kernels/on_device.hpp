#ifndef CAFFE_KERNELS_ON_DEVICE_HPP_
#define CAFFE_KERNELS_ON_DEVICE_HPP_

#include "caffe/common.hpp"
#include "caffe/device_context.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace kernels {

/// The context of the calling thread's device, whatever Caffe::mode() is. Used by the caffe_gpu_*
/// functions.
inline DeviceContext OnDevice() {
  layrub::Device& device = Caffe::device();
  return {true, device.LaunchesKernels(), device.stream(), &device};
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ON_DEVICE_HPP_
