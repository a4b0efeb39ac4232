#ifndef CAFFE_DEVICE_GROUP_HPP_
#define CAFFE_DEVICE_GROUP_HPP_

#include "caffe/common.hpp"
#include "layrub/device/communicator.hpp"

namespace caffe {

/// While an object exists, nets made on this thread belong to one member of a group of devices
/// among which a net is divided (caffe/partition.hpp). Their layers exchange values through
/// `communicator`, which must outlive the nets. Every member must make the same nets and run them
/// at the same time.
class DeviceGroupScope {
 public:
  explicit DeviceGroupScope(layrub::Communicator* communicator);
  ~DeviceGroupScope();
  /// The communicator of the innermost scope, or null.
  static layrub::Communicator* Current();

 private:
  layrub::Communicator* const before_;

  DISABLE_COPY_AND_ASSIGN(DeviceGroupScope);
};

}  // namespace caffe

#endif  // CAFFE_DEVICE_GROUP_HPP_
