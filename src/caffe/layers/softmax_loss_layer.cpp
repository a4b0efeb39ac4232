#include "caffe/layers/softmax_loss_layer.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/kernels/softmax.hpp"
#include "caffe/kernels/softmax_loss.hpp"

namespace caffe {

namespace {

enum SoftmaxLossForm { kFromProb, kFromX };

}  // namespace

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  const LossParameter& param = this->layer_param_.loss_param();
  normalization_ = param.normalization();
  // The older field counts only where the newer is absent.
  if (!param.has_normalization() && param.has_normalize()) {
    normalization_ = param.normalize() ? LossParameter_NormalizationMode_VALID
                                       : LossParameter_NormalizationMode_BATCH_SIZE;
  }
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  softmax_axis_ = bottom[0]->CanonicalAxisIndex(this->layer_param_.softmax_param().axis());
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], softmax_axis_);
  CHECK_EQ(shape.positions(), bottom[1]->count())
      << "Layer " << this->layer_param_.name()
      << ": number of labels must match number of predictions; with the softmax along axis "
      << softmax_axis_ << ", predictions of shape " << bottom[0]->shape_string() << " need "
      << shape.positions() << " labels, not " << bottom[1]->count() << ".";
  if (top.size() > 1) top[1]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
double SoftmaxWithLossLayer<Dtype>::FixedNormalizer(const Blob<Dtype>& scores) const {
  switch (normalization_) {
    case LossParameter_NormalizationMode_FULL:
      return std::max(1.0, scores.count(0, softmax_axis_) * 1.0 * scores.count(softmax_axis_ + 1));
    case LossParameter_NormalizationMode_BATCH_SIZE:
      return std::max(1, scores.count(0, softmax_axis_));
    case LossParameter_NormalizationMode_NONE:
      return 1;
    case LossParameter_NormalizationMode_VALID:
      break;
  }
  return 0;
}

template <typename Dtype>
MemoryTraits SoftmaxWithLossLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>& top,
                                                 const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  const int64_t value = sizeof(Dtype);
  traits.forward.reads = {BottomData(0), BottomData(1)};
  traits.forward.writes = {TopData(0)};
  traits.forward.scratch_bytes = sizeof(kernels::LabelCounts) + value * bottom[1]->count();
  if (top.size() > 1) {
    traits.forward.writes.push_back(TopData(1));
  } else {
    traits.saved = {{"prob", value * bottom[0]->count()}};
  }
  if (!propagate_down[0]) return traits;
  const auto add_form = [&traits](const char* name, const Operand& source) {
    OperandForm form;
    form.name = name;
    form.reads = {source, BottomData(1), TopDiff(0)};
    form.writes = {BottomDiff(0)};
    form.may_alias = {{BottomDiff(0), source}};
    form.scratch_bytes = sizeof(kernels::LabelCounts);
    traits.backward.push_back(form);
  };
  add_form("prob", top.size() > 1 ? TopData(1) : Saved(0));
  add_form("x", BottomData(0));
  return traits;
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                            const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], softmax_axis_);
  const auto labels = kernels::LabelsOf(Data(context, *bottom[1]), this->layer_param_.loss_param());
  auto* counts = this->template ScratchBytes<kernels::LabelCounts>();
  Dtype* losses = reinterpret_cast<Dtype*>(counts + 1);
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* prob = top.size() > 1 ? MutableData(context, top[1]) : this->template SavedBytes<Dtype>(0);
  kernels::CountLabels(context, shape, labels, counts);
  if (prob) kernels::SoftmaxForward(context, shape, x, prob);
  kernels::SoftmaxLosses(context, shape, x, static_cast<const Dtype*>(prob), labels, losses);
  kernels::TotalLoss(context, shape, losses, {FixedNormalizer(*bottom[0]), counts},
                     MutableData(context, top[0]));
  // A loss that counts is read on the host anyhow. It is not a number if a label is out of range.
  if (!context.gpu || (this->loss(0) != Dtype(0) && std::isnan(top[0]->cpu_data()[0]))) {
    kernels::CheckLabels(context, shape, counts, this->layer_param_.name());
  }
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                             const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  this->CheckNoTargetGradient(propagate_down);
  if (!propagate_down[0]) return;
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], softmax_axis_);
  const auto labels = kernels::LabelsOf(Data(context, *bottom[1]), this->layer_param_.loss_param());
  auto* counts = this->template ScratchBytes<kernels::LabelCounts>();
  Dtype* dx = MutableDiff(context, bottom[0]);
  const Dtype* prob = dx;
  if (this->form() == kFromX) {
    kernels::SoftmaxForward(context, shape, Data(context, *bottom[0]), dx);
  } else {
    prob = top.size() > 1 ? Data(context, *top[1]) : this->template SavedBytes<Dtype>(0);
  }
  kernels::CountLabels(context, shape, labels, counts);
  kernels::SoftmaxLossBackward(context, shape, prob, labels, {FixedNormalizer(*bottom[0]), counts},
                               Diff(context, *top[0]), dx);
}

INSTANTIATE_CLASS(SoftmaxWithLossLayer);
REGISTER_LAYER_CLASS(SoftmaxWithLoss);

}  // namespace caffe
