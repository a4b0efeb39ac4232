#include "caffe/device_group.hpp"

namespace caffe {
namespace {

thread_local layrub::Communicator* current = nullptr;

}  // namespace

DeviceGroupScope::DeviceGroupScope(layrub::Communicator* communicator) : before_(current) {
  current = communicator;
}

DeviceGroupScope::~DeviceGroupScope() { current = before_; }

layrub::Communicator* DeviceGroupScope::Current() { return current; }

}  // namespace caffe
