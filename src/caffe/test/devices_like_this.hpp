#ifndef CAFFE_TEST_DEVICES_LIKE_THIS_HPP_
#define CAFFE_TEST_DEVICES_LIKE_THIS_HPP_

#include <memory>
#include <vector>

#include "caffe/common.hpp"
#include "layrub/device/communicator.hpp"

namespace caffe {

/// Returns this thread's device and others like it: null for the CPU, emulated devices, or GPUs. If
/// there are too few GPUs, some are used several times, because no other device gives the same
/// bits.
inline std::vector<layrub::Device*> DevicesLikeThis(int count) {
  static std::vector<std::unique_ptr<layrub::Device>> emulated;
  std::vector<layrub::Device*> devices(count);
  if (Caffe::mode() == Caffe::CPU) return devices;
  devices[0] = &Caffe::device();
  for (int rank = 1; rank < count; ++rank) {
    if (devices[0]->LaunchesKernels()) {
      devices[rank] = &layrub::Gpu((devices[0]->id() + rank) % layrub::GpuCount());
    } else {
      emulated.push_back(layrub::MakeEmulatedDevice());
      devices[rank] = emulated.back().get();
    }
  }
  return devices;
}

/// Returns a group on `count` devices like this thread's. GPUs exchange values by NCCL if there are
/// enough.
inline layrub::Group GroupLikeThis(int count) {
  const std::vector<layrub::Device*> devices = DevicesLikeThis(count);
  const bool enough =
      devices[0] != nullptr && devices[0]->LaunchesKernels() && count <= layrub::GpuCount();
  return enough ? layrub::Connect(devices) : layrub::ConnectThreads(devices);
}

}  // namespace caffe

#endif  // CAFFE_TEST_DEVICES_LIKE_THIS_HPP_
