#ifndef CAFFE_LAYERS_LOSS_SAMPLE_LOSS_HPP_
#define CAFFE_LAYERS_LOSS_SAMPLE_LOSS_HPP_

// For losses with one label per sample: all values of a sample are scores of its classes.

#include "caffe/kernels/loss/labels.hpp"
#include "caffe/layer.hpp"

namespace caffe {

template <typename Dtype>
kernels::ScoreShape ScoresOfSamples(const Blob<Dtype>& scores) {
  return {scores.shape(0), scores.count(1), 1};
}

/// Aborts, naming the layer, unless there is one label per sample.
template <typename Dtype>
void CheckOneLabelEach(const string& layer, const Blob<Dtype>& scores, const Blob<Dtype>& labels) {
  CHECK_EQ(scores.shape(0), labels.count())
      << "Layer " << layer << ": number of labels must match number of predictions; predictions of "
      << "shape " << scores.shape_string() << " need " << scores.shape(0) << " labels, not "
      << labels.count() << ".";
}

/// Bytes of the forward's workspace: LabelCounts, then one loss per sample.
template <typename Dtype>
int64_t SampleLossWorkspace(const Blob<Dtype>& scores) {
  return int64_t{sizeof(kernels::LabelCounts)} + int64_t{scores.shape(0)} * int64_t{sizeof(Dtype)};
}

/// Traits of a loss whose backward reads bottom 0 alone and may overwrite it. The backward variant
/// is named `variant`.
template <typename Dtype>
MemoryTraits SampleLossTraits(const Blob<Dtype>& scores, const char* variant, bool propagate_down) {
  MemoryTraits traits;
  traits.declared = true;
  traits.forward.reads = {BottomData(0), BottomData(1)};
  traits.forward.writes = {TopData(0)};
  traits.forward.workspace_bytes = SampleLossWorkspace(scores);
  if (!propagate_down) return traits;
  OperandVariant backward;
  backward.name = variant;
  backward.reads = {BottomData(0), BottomData(1), TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  backward.may_alias = {{BottomDiff(0), BottomData(0)}};
  traits.backward.push_back(backward);
  return traits;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_LOSS_SAMPLE_LOSS_HPP_
