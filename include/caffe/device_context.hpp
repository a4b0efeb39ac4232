#ifndef CAFFE_DEVICE_CONTEXT_HPP_
#define CAFFE_DEVICE_CONTEXT_HPP_

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/util/fused_loops.hpp"

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

// A blob's memory where the body runs, for loops of kernels (FusedLoops::Operands).
template <typename Dtype>
const Dtype* Data(const DeviceContext& context, const Blob<Dtype>& blob) {
  const FusedLoops::Operands operands;
  return context.gpu ? blob.gpu_data() : blob.cpu_data();
}
template <typename Dtype>
const Dtype* Diff(const DeviceContext& context, const Blob<Dtype>& blob) {
  const FusedLoops::Operands operands;
  return context.gpu ? blob.gpu_diff() : blob.cpu_diff();
}
template <typename Dtype>
Dtype* MutableData(const DeviceContext& context, Blob<Dtype>* blob) {
  const FusedLoops::Operands operands;
  return context.gpu ? blob->mutable_gpu_data() : blob->mutable_cpu_data();
}
template <typename Dtype>
Dtype* MutableDiff(const DeviceContext& context, Blob<Dtype>* blob) {
  const FusedLoops::Operands operands;
  return context.gpu ? blob->mutable_gpu_diff() : blob->mutable_cpu_diff();
}

}  // namespace caffe

#endif  // CAFFE_DEVICE_CONTEXT_HPP_
