#ifndef CAFFE_DEVICE_CONTEXT_HPP_
#define CAFFE_DEVICE_CONTEXT_HPP_

#include <cstddef>

namespace layrub {
class Device;
}

namespace caffe {

/// The device on which a layer's body and its kernels run. Passed down, never stored.
struct DeviceContext {
  bool gpu = false;     ///< the body uses the GPU side of blobs
  bool launch = false;  ///< kernels are launched on `stream`; if false, they are loops on the CPU
  void* stream = nullptr;            ///< a cudaStream_t
  layrub::Device* device = nullptr;  ///< the device that owns the memory if `gpu`
  /// The context of the calling thread, from Caffe::mode() and its device.
  static DeviceContext Current();
};

/// Copies between any two addresses, on the host or the device, that a body of `context` may use,
/// after all work queued so far. The copy is complete on return if one of the addresses is on the
/// host.
void CopyBytes(const DeviceContext& context, void* to, const void* from, size_t bytes);
/// Zeroes memory that a body of `context` may write, after all work queued so far.
void ZeroBytes(const DeviceContext& context, void* memory, size_t bytes);

}  // namespace caffe

#endif  // CAFFE_DEVICE_CONTEXT_HPP_
