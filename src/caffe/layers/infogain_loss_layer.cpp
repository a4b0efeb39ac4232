#include "caffe/layers/infogain_loss_layer.hpp"

#include <numeric>

#include "caffe/kernels/copy.hpp"
#include "caffe/kernels/infogain_loss.hpp"
#include "caffe/kernels/softmax.hpp"
#include "caffe/util/io.hpp"
#include "derived.hpp"
#include "inner_layer.hpp"
#include "loss_normalizer.hpp"

namespace caffe {

namespace {

enum InfogainForm { kFromProb, kFromX };

}  // namespace

template <typename Dtype>
void InfogainLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  const LossParameter& param = this->layer_param_.loss_param();
  has_ignore_label_ = param.has_ignore_label();
  ignore_label_ = param.ignore_label();
  normalization_ = NormalizationOf(param, LossParameter_NormalizationMode_VALID);
  if (bottom.size() < 3) {
    const InfogainLossParameter& infogain = this->layer_param_.infogain_loss_param();
    CHECK(infogain.has_source()) << "Layer " << this->layer_param_.name()
                                 << ": Infogain matrix source must be specified: a third bottom or "
                                    "infogain_loss_param { source }.";
    BlobProto stored;
    ReadProtoFromBinaryFileOrDie(infogain.source(), &stored);
    infogain_.FromProto(stored);
  }
  if (!IsDerived(*this)) return;
  softmax_bottom_vec_ = {bottom[0]};
  softmax_top_vec_ = {&prob_};
  LayerParameter softmax = this->layer_param_;
  softmax.mutable_softmax_param()->set_axis(softmax.infogain_loss_param().axis());
  softmax_layer_ = MakeInnerLayer(softmax, "Softmax", softmax_bottom_vec_, softmax_top_vec_);
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  infogain_axis_ = bottom[0]->CanonicalAxisIndex(this->layer_param_.infogain_loss_param().axis());
  const string& name = this->layer_param_.name();
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], infogain_axis_);
  CHECK_EQ(shape.positions(), bottom[1]->count())
      << "Layer " << name << ": number of labels must match number of predictions; with axis "
      << infogain_axis_ << ", predictions of shape " << bottom[0]->shape_string() << " need "
      << shape.positions() << " labels, not " << bottom[1]->count() << ".";
  CHECK_EQ(shape.classes * shape.classes, Gain(bottom).count())
      << "Layer " << name << ": " << shape.classes
      << " classes need an infogain matrix of as many rows and columns; its shape is "
      << Gain(bottom).shape_string() << ".";
  outer_num_ = static_cast<int>(shape.outer);
  inner_num_ = static_cast<int>(shape.inner);
  num_labels_ = static_cast<int>(shape.classes);
  if (top.size() > 1) top[1]->ReshapeLike(*bottom[0]);
  if (!IsDerived(*this)) return;
  softmax_bottom_vec_ = {bottom[0]};
  prob_.ReshapeLike(*bottom[0]);
  sum_rows_H_.Reshape({num_labels_});
  if (bottom.size() < 3) sum_rows_of_H(&infogain_);
}

template <typename Dtype>
Dtype InfogainLossLayer<Dtype>::get_normalizer(LossParameter_NormalizationMode normalization_mode,
                                               int valid_count) {
  return static_cast<Dtype>(LossDivisor(normalization_mode, outer_num_, inner_num_, valid_count));
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::sum_rows_of_H(const Blob<Dtype>* H) {
  CHECK_EQ(H->count(), num_labels_ * num_labels_)
      << "Layer " << this->layer_param_.name() << ": H must be a matrix of one row and one column "
      << "for each class; its shape is " << H->shape_string() << ".";
  const Dtype* row = H->cpu_data();
  Dtype* const sums = sum_rows_H_.mutable_cpu_data();
  for (int label = 0; label < num_labels_; ++label, row += num_labels_) {
    sums[label] = std::accumulate(row, row + num_labels_, Dtype(0));
  }
}

template <typename Dtype>
kernels::Normalizer InfogainLossLayer<Dtype>::NormalizerOf(const DeviceContext& context,
                                                           const kernels::LabelCounts* counts) {
  if (IsDerived(*this))
    return {get_normalizer(normalization_, CountedOnHost(context, counts)), counts};
  const bool counted = normalization_ == LossParameter_NormalizationMode_VALID;
  return {counted ? 0 : LossDivisor(normalization_, outer_num_, inner_num_, -1), counts};
}

template <typename Dtype>
MemoryTraits InfogainLossLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top,
                                              const vector<bool>& propagate_down) const {
  if (IsDerived(*this)) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  const int64_t value = sizeof(Dtype), counts = sizeof(kernels::LabelCounts);
  const int64_t losses = value * bottom[1]->count();
  MemoryTraits traits;
  traits.declared = true;
  traits.forward.writes = {TopData(0)};
  traits.forward.scratch_bytes = counts + losses;
  for (int i = 0; i < static_cast<int>(bottom.size()); ++i)
    traits.forward.reads.push_back(BottomData(i));
  if (top.size() > 1) {
    traits.forward.writes.push_back(TopData(1));
  } else {
    traits.saved = {{"prob", value * bottom[0]->count()}};
  }
  if (!propagate_down[0]) return traits;
  const auto add_form = [&](const char* name, const Operand& source) {
    OperandForm form;
    form.name = name;
    form.reads = {source, BottomData(1), TopDiff(0)};
    if (bottom.size() > 2) form.reads.push_back(BottomData(2));
    form.writes = {BottomDiff(0)};
    form.may_alias = {{BottomDiff(0), source}};
    form.scratch_bytes = counts;
    traits.backward.push_back(form);
  };
  add_form("prob", top.size() > 1 ? TopData(1) : Saved(0));
  add_form("x", BottomData(0));
  return traits;
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                         const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], infogain_axis_);
  const kernels::Labels<Dtype> labels{Data(context, *bottom[1]), has_ignore_label_, ignore_label_};
  const int64_t scratch = sizeof(kernels::LabelCounts) + sizeof(Dtype) * bottom[1]->count();
  auto* counts = IsDerived(*this)
                     ? OwnScratch<kernels::LabelCounts>(context, scratch, &this->own_scratch_)
                     : this->template ScratchBytes<kernels::LabelCounts>();
  Dtype* losses = reinterpret_cast<Dtype*>(counts + 1);
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* const shown = top.size() > 1 ? MutableData(context, top[1]) : nullptr;
  Dtype* const prob = IsDerived(*this) ? MutableData(context, &prob_)
                      : shown          ? shown
                                       : this->template SavedBytes<Dtype>(0);
  kernels::CountLabels(context, shape, labels, counts);
  if (prob) kernels::SoftmaxForward(context, shape, x, prob);
  if (shown) kernels::Copy(context, shape.count(), prob, shown);
  kernels::InfogainLosses(context, shape, static_cast<Dtype>(kLOG_THRESHOLD), x,
                          static_cast<const Dtype*>(prob), labels, Data(context, Gain(bottom)),
                          losses);
  kernels::TotalLoss(context, shape.positions(), losses, NormalizerOf(context, counts),
                     MutableData(context, top[0]));
  this->CheckLabels(context, shape, counts, *top[0]);
  if (IsDerived(*this) && bottom.size() > 2) sum_rows_of_H(bottom[2]);
}

template <typename Dtype>
void InfogainLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  this->CheckNoTargetGradient(propagate_down);
  CHECK(bottom.size() < 3 || !propagate_down[2])
      << "Layer " << this->layer_param_.name() << " (" << this->type()
      << ") cannot backpropagate to infogain inputs.";
  if (!propagate_down[0]) return;
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], infogain_axis_);
  const kernels::Labels<Dtype> labels{Data(context, *bottom[1]), has_ignore_label_, ignore_label_};
  auto* counts = IsDerived(*this) ? OwnScratch<kernels::LabelCounts>(
                                        context, sizeof(kernels::LabelCounts), &this->own_scratch_)
                                  : this->template ScratchBytes<kernels::LabelCounts>();
  Dtype* dx = MutableDiff(context, bottom[0]);
  const Dtype* prob = dx;
  if (IsDerived(*this)) {
    prob = Data(context, prob_);
  } else if (this->form() == kFromX) {
    kernels::SoftmaxForward(context, shape, Data(context, *bottom[0]), dx);
  } else {
    prob = top.size() > 1 ? Data(context, *top[1]) : this->template SavedBytes<Dtype>(0);
  }
  kernels::CountLabels(context, shape, labels, counts);
  kernels::InfogainLossBackward(context, shape, prob, labels, Data(context, Gain(bottom)),
                                NormalizerOf(context, counts), Diff(context, *top[0]), dx);
}

INSTANTIATE_CLASS(InfogainLossLayer);
REGISTER_LAYER_CLASS(InfogainLoss);

}  // namespace caffe
