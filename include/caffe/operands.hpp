#ifndef CAFFE_OPERANDS_HPP_
#define CAFFE_OPERANDS_HPP_

// Addresses of a blob's memory on the device where a layer's body runs, as operands for kernels.

#include "caffe/blob.hpp"
#include "caffe/device_context.hpp"
#include "caffe/util/deferred_work.hpp"

namespace caffe {

template <typename Dtype>
const Dtype* Data(const DeviceContext& context, const Blob<Dtype>& blob) {
  const DeferredWork::Operands operands;
  return context.gpu ? blob.gpu_data() : blob.cpu_data();
}
template <typename Dtype>
const Dtype* Diff(const DeviceContext& context, const Blob<Dtype>& blob) {
  const DeferredWork::Operands operands;
  return context.gpu ? blob.gpu_diff() : blob.cpu_diff();
}
template <typename Dtype>
Dtype* MutableData(const DeviceContext& context, Blob<Dtype>* blob) {
  const DeferredWork::Operands operands;
  return context.gpu ? blob->mutable_gpu_data() : blob->mutable_cpu_data();
}
template <typename Dtype>
Dtype* MutableDiff(const DeviceContext& context, Blob<Dtype>* blob) {
  const DeferredWork::Operands operands;
  return context.gpu ? blob->mutable_gpu_diff() : blob->mutable_cpu_diff();
}

}  // namespace caffe

#endif  // CAFFE_OPERANDS_HPP_
