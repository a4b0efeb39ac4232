#include "caffe/device_context.hpp"

#include <cstring>

#include "caffe/common.hpp"
#include "caffe/util/deferred_work.hpp"
#include "layrub/device/device.hpp"

namespace caffe {

DeviceContext DeviceContext::Current() {
  if (Caffe::mode() == Caffe::CPU) return {};
  layrub::Device& device = Caffe::device();
  return {true, device.LaunchesKernels(), device.stream(), &device};
}

void CopyBytes(const DeviceContext& context, void* to, const void* from, size_t bytes) {
  DeferredWork::FinishCurrent();
  if (bytes == 0) return;
  if (context.gpu) {
    context.device->Copy(to, from, static_cast<int64_t>(bytes));
  } else {
    std::memcpy(to, from, bytes);
  }
}

void ZeroBytes(const DeviceContext& context, void* memory, size_t bytes) {
  DeferredWork::FinishCurrent();
  if (bytes == 0) return;
  if (context.gpu) {
    context.device->Zero(memory, static_cast<int64_t>(bytes));
  } else {
    std::memset(memory, 0, bytes);
  }
}

}  // namespace caffe
