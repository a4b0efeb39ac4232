#ifndef CAFFE_KERNELS_BLOB_ARGUMENTS_HPP_
#define CAFFE_KERNELS_BLOB_ARGUMENTS_HPP_

// Kernel arguments made from blobs. For layers: the kernels themselves do not know blobs.

#include "caffe/kernels/accumulator.hpp"
#include "caffe/kernels/loss/labels.hpp"
#include "caffe/operands.hpp"

namespace caffe {
namespace kernels {

/// The diff of `blob`, the gradient of a parameter. The first kernel after the diff was cleared
/// overwrites it, so that the zeros need not be stored.
template <typename Dtype>
Accumulator<Dtype> AccumulatorOf(const DeviceContext& context, Blob<Dtype>* blob) {
  const bool zero = blob->diff()->TakeZero();
  return {MutableDiff(context, blob), !zero};
}

/// The shape of scores whose classes lie along `axis` of a blob.
template <typename Dtype>
ScoreShape ScoresAlong(const Blob<Dtype>& scores, int axis) {
  return {scores.count(0, axis), scores.shape(axis), scores.count(axis + 1)};
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_BLOB_ARGUMENTS_HPP_
