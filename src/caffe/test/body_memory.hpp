#ifndef CAFFE_TEST_BODY_MEMORY_HPP_
#define CAFFE_TEST_BODY_MEMORY_HPP_

// Memory in which layers compute: the device's in GPU mode, else the host's. Tests write and read
// it by copies, so that the same test runs on every device.

#include <algorithm>
#include <vector>

#include "caffe/device_context.hpp"
#include "caffe/syncedmem.hpp"

namespace caffe {

/// Bytes in that memory. Initially all bits are set, so values are NaN.
class BodyMemory {
 public:
  explicit BodyMemory(size_t bytes) : memory_(std::max<size_t>(bytes, 1)) {
    std::fill_n(static_cast<unsigned char*>(memory_.mutable_cpu_data()), memory_.size(), 0xFF);
    const bool gpu = DeviceContext::Current().gpu;
    address_ = gpu ? memory_.mutable_gpu_data() : memory_.mutable_cpu_data();
  }
  void* address() const { return address_; }

 private:
  SyncedMemory memory_;
  void* address_;
};

template <typename T>
void Put(const std::vector<T>& values, void* to) {
  CopyBytes(DeviceContext::Current(), to, values.data(), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> Get(const void* from, size_t count) {
  std::vector<T> values(count);
  CopyBytes(DeviceContext::Current(), values.data(), from, count * sizeof(T));
  return values;
}

}  // namespace caffe

#endif  // CAFFE_TEST_BODY_MEMORY_HPP_
