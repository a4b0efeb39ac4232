#ifndef CAFFE_DEVICE_CONTEXT_HPP_
#define CAFFE_DEVICE_CONTEXT_HPP_

#include <cstddef>

namespace layrub {
class Device;
}

namespace caffe {

/// Where a layer's body and its kernels run. Passed down, never stored.
struct DeviceContext {
  bool gpu = false;                  ///< the body works on the GPU's side of blobs
  bool launch = false;               ///< kernels are launched on `stream`, else they are loops here
  void* stream = nullptr;            ///< a cudaStream_t
  layrub::Device* device = nullptr;  ///< whose memory it is if `gpu`
  /// The calling thread's device according to Caffe::mode().
  static DeviceContext Current();
};

/// Copies between any two places that a body of `context` may touch, host or device. After what
/// is queued; done when it returns if one of them is the host's.
void CopyBytes(const DeviceContext& context, void* to, const void* from, size_t bytes);
/// Zeroes memory that a body of `context` may write, after what is queued.
void ZeroBytes(const DeviceContext& context, void* memory, size_t bytes);

}  // namespace caffe

#endif  // CAFFE_DEVICE_CONTEXT_HPP_
