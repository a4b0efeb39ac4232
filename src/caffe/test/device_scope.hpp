#ifndef CAFFE_TEST_DEVICE_SCOPE_HPP_
#define CAFFE_TEST_DEVICE_SCOPE_HPP_

#include "caffe/common.hpp"

namespace caffe {

/// While this object exists, the calling thread uses `device`, in mode `mode`.
class DeviceScope {
 public:
  explicit DeviceScope(layrub::Device* device, Caffe::Brew mode = Caffe::mode()) {
    Caffe::UseDevice(device);
    Caffe::set_mode(mode);
  }
  ~DeviceScope() {
    Caffe::UseDevice(device_before_);
    Caffe::set_mode(mode_before_);
  }

 private:
  layrub::Device* const device_before_ = Caffe::chosen_device();
  const Caffe::Brew mode_before_ = Caffe::mode();

  DISABLE_COPY_AND_ASSIGN(DeviceScope);
};

}  // namespace caffe

#endif  // CAFFE_TEST_DEVICE_SCOPE_HPP_
