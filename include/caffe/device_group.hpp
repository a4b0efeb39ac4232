#ifndef CAFFE_DEVICE_GROUP_HPP_
#define CAFFE_DEVICE_GROUP_HPP_

#include "caffe/common.hpp"
#include "layrub/device/communicator.hpp"

namespace caffe {

/// While one exists, nets that are made on this thread are those of one of several devices among
/// which a net is divided (caffe/partition.hpp): their layers exchange values by `communicator`,
/// which must outlive the nets. Every member makes the same nets, and runs them at the same time.
class DeviceGroupScope {
 public:
  explicit DeviceGroupScope(layrub::Communicator* communicator);
  ~DeviceGroupScope();
  /// Null where there is none.
  static layrub::Communicator* Current();

 private:
  layrub::Communicator* const before_;

  DISABLE_COPY_AND_ASSIGN(DeviceGroupScope);
};

}  // namespace caffe

#endif  // CAFFE_DEVICE_GROUP_HPP_
