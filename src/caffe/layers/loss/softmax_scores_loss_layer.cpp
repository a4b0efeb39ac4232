#include "caffe/layers/softmax_scores_loss_layer.hpp"

#include "caffe/kernels/activation/softmax.hpp"
#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/inner_layer.hpp"
#include "label_check.hpp"
#include "loss_normalizer.hpp"

namespace caffe {

namespace {

enum SoftmaxLossVariant { kSoftmaxLossFromProb, kSoftmaxLossFromX };

}  // namespace

template <typename Dtype>
void SoftmaxScoresLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top) {
  if (!each_) LossLayer<Dtype>::LayerSetUp(bottom, top);
  const LossParameter& param = this->layer_param_.loss_param();
  has_ignore_label_ = param.has_ignore_label();
  ignore_label_ = param.ignore_label();
  normalization_ = NormalizationOf(param, LossParameter_NormalizationMode_VALID);
  if (!IsUserSubclass()) return;
  softmax_bottom_vec_ = {bottom[0]};
  softmax_top_vec_ = {&prob_};
  LayerParameter softmax = this->layer_param_;
  softmax.mutable_softmax_param()->set_axis(AxisOfClasses().param);
  softmax_layer_ = MakeInnerLayer(softmax, "Softmax", softmax_bottom_vec_, softmax_top_vec_);
}

template <typename Dtype>
void SoftmaxScoresLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  const ClassAxis axis = AxisOfClasses();
  *axis.index = bottom[0]->CanonicalAxisIndex(axis.param);
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], *axis.index);
  CHECK_EQ(shape.positions(), bottom[1]->count())
      << "Layer " << this->layer_param_.name()
      << ": number of labels must match number of predictions; with " << axis.name << " "
      << *axis.index << ", predictions of shape " << bottom[0]->shape_string() << " need "
      << shape.positions() << " labels, not " << bottom[1]->count() << ".";
  outer_num_ = static_cast<int>(shape.outer);
  inner_num_ = static_cast<int>(shape.inner);
  if (top.size() > 1) top[1]->ReshapeLike(*bottom[0]);
  if (each_) {
    vector<int> positions = bottom[0]->shape();
    positions.erase(positions.begin() + *axis.index);
    top[0]->Reshape(positions);
  }
  if (!IsUserSubclass()) return;
  softmax_bottom_vec_ = {bottom[0]};
  prob_.ReshapeLike(*bottom[0]);
}

template <typename Dtype>
Dtype SoftmaxScoresLossLayer<Dtype>::get_normalizer(
    LossParameter_NormalizationMode normalization_mode, int valid_count) {
  return static_cast<Dtype>(LossDivisor(normalization_mode, outer_num_, inner_num_, valid_count));
}

template <typename Dtype>
kernels::Normalizer SoftmaxScoresLossLayer<Dtype>::NormalizerOf(
    const DeviceContext& context, const kernels::LabelCounts* counts) {
  if (IsUserSubclass())
    return {get_normalizer(normalization_, ReadValidCount(context, counts)), counts};
  const bool counted = normalization_ == LossParameter_NormalizationMode_VALID;
  return {counted ? 0 : LossDivisor(normalization_, outer_num_, inner_num_, -1), counts};
}

template <typename Dtype>
MemoryTraits SoftmaxScoresLossLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                                   const vector<Blob<Dtype>*>& top,
                                                   const vector<bool>& propagate_down) const {
  if (IsUserSubclass()) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  const int64_t value = sizeof(Dtype), counts = sizeof(kernels::LabelCounts);
  const int64_t losses = value * bottom[1]->count();
  MemoryTraits traits;
  traits.declared = true;
  traits.sliceable = each_ && outer_num_ % bottom[0]->shape(0) == 0;
  traits.forward.writes = {TopData(0)};
  traits.forward.workspace_bytes = counts + (each_ ? 0 : losses);
  const int bottoms = static_cast<int>(bottom.size());
  for (int i = 0; i < bottoms; ++i) traits.forward.reads.push_back(BottomData(i));
  if (top.size() > 1) {
    traits.forward.writes.push_back(TopData(1));
  } else {
    traits.saved = {{"prob", value * bottom[0]->count()}};
  }
  if (!propagate_down[0]) return traits;
  const auto add_variant = [&](const char* name, const Operand& source) {
    OperandVariant variant;
    variant.name = name;
    variant.reads = {source, BottomData(1), TopDiff(0)};
    for (int i = 2; i < bottoms; ++i) variant.reads.push_back(BottomData(i));
    variant.writes = {BottomDiff(0)};
    variant.may_alias = {{BottomDiff(0), source}};
    if (!each_) variant.workspace_bytes = counts;
    traits.backward.push_back(variant);
  };
  add_variant("prob", top.size() > 1 ? TopData(1) : Saved(0));
  add_variant("x", BottomData(0));
  return traits;
}

template <typename Dtype>
void SoftmaxScoresLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                              const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], *AxisOfClasses().index);
  const kernels::Labels<Dtype> labels{Data(context, *bottom[1]), has_ignore_label_, ignore_label_};
  const int64_t positions = shape.positions();
  const int64_t bytes = sizeof(kernels::LabelCounts) + sizeof(Dtype) * positions;
  const bool derived = IsUserSubclass();
  auto* counts = derived ? OwnWorkspace<kernels::LabelCounts>(context, bytes, &this->own_workspace_)
                         : this->template WorkspaceBytes<kernels::LabelCounts>();
  Dtype* losses = each_ ? MutableData(context, top[0]) : reinterpret_cast<Dtype*>(counts + 1);
  Dtype* const shown = top.size() > 1 ? MutableData(context, top[1]) : nullptr;
  Dtype* const prob = derived ? MutableData(context, &prob_)
                      : shown ? shown
                              : this->template SavedBytes<Dtype>(0);
  kernels::CountLabels(context, shape, labels, counts);
  if (prob) kernels::SoftmaxForward(context, shape, Data(context, *bottom[0]), prob);
  if (shown) kernels::Copy(context, shape.count(), prob, shown);
  Losses({context, shape, bottom, labels, prob}, losses);
  if (!each_) {
    kernels::TotalLoss(context, positions, losses, NormalizerOf(context, counts),
                       MutableData(context, top[0]));
  }
  CheckLabels(context, shape, counts, this->layer_param_, this->reads());
}

template <typename Dtype>
void SoftmaxScoresLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                               const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& bottom) {
  this->CheckNoTargetGradient(propagate_down);
  if (!propagate_down[0]) return;
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], *AxisOfClasses().index);
  const kernels::Labels<Dtype> labels{Data(context, *bottom[1]), has_ignore_label_, ignore_label_};
  const bool derived = IsUserSubclass();
  auto* counts = derived ? OwnWorkspace<kernels::LabelCounts>(context, sizeof(kernels::LabelCounts),
                                                              &this->own_workspace_)
                         : this->template WorkspaceBytes<kernels::LabelCounts>();
  Dtype* dx = MutableDiff(context, bottom[0]);
  const Dtype* prob = dx;
  if (derived) {
    prob = Data(context, prob_);
  } else if (this->variant() == kSoftmaxLossFromX) {
    kernels::SoftmaxForward(context, shape, Data(context, *bottom[0]), dx);
  } else {
    prob = top.size() > 1 ? Data(context, *top[1]) : this->template SavedBytes<Dtype>(0);
  }
  kernels::LossScale<Dtype> scale{Diff(context, *top[0]), {}, each_};
  if (!each_) {
    kernels::CountLabels(context, shape, labels, counts);
    scale.normalizer = NormalizerOf(context, counts);
  }
  Gradient({context, shape, bottom, labels, prob}, scale, dx);
}

INSTANTIATE_CLASS(SoftmaxScoresLossLayer);

}  // namespace caffe
