#ifndef CAFFE_DEVICE_CONTEXT_HPP_
#define CAFFE_DEVICE_CONTEXT_HPP_

#include "caffe/blob.hpp"
#include "caffe/common.hpp"

namespace caffe {

/// Where a layer's body and its kernels run. Passed down, never stored.
struct DeviceContext {
  bool gpu = false;
  void* stream = nullptr;  ///< cudaStream_t when `gpu`
  /// The calling thread's device according to Caffe::mode().
  static DeviceContext Current() { return {Caffe::mode() == Caffe::GPU, nullptr}; }
};

// A blob's memory where the body runs.
template <typename Dtype>
const Dtype* Data(const DeviceContext& context, const Blob<Dtype>& blob) {
  return context.gpu ? blob.gpu_data() : blob.cpu_data();
}
template <typename Dtype>
const Dtype* Diff(const DeviceContext& context, const Blob<Dtype>& blob) {
  return context.gpu ? blob.gpu_diff() : blob.cpu_diff();
}
template <typename Dtype>
Dtype* MutableData(const DeviceContext& context, Blob<Dtype>* blob) {
  return context.gpu ? blob->mutable_gpu_data() : blob->mutable_cpu_data();
}
template <typename Dtype>
Dtype* MutableDiff(const DeviceContext& context, Blob<Dtype>* blob) {
  return context.gpu ? blob->mutable_gpu_diff() : blob->mutable_cpu_diff();
}

}  // namespace caffe

#endif  // CAFFE_DEVICE_CONTEXT_HPP_
