#include "caffe/layers/sigmoid_cross_entropy_loss_layer.hpp"

#include "caffe/kernels/activation/activation.hpp"
#include "caffe/kernels/loss/sigmoid_loss.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "loss_normalizer.hpp"

namespace caffe {

template <typename Dtype>
SigmoidCrossEntropyLossLayer<Dtype>::SigmoidCrossEntropyLossLayer(const LayerParameter& param)
    : LossLayer<Dtype>(param), sigmoid_output_(new Blob<Dtype>()) {}

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                     const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::LayerSetUp(bottom, top);
  const LossParameter& param = this->layer_param_.loss_param();
  has_ignore_label_ = param.has_ignore_label();
  ignore_label_ = param.ignore_label();
  normalization_ = NormalizationOf(param, LossParameter_NormalizationMode_BATCH_SIZE);
  if (!IsDerived(*this)) return;
  sigmoid_bottom_vec_ = {bottom[0]};
  sigmoid_top_vec_ = {sigmoid_output_.get()};
  LayerParameter sigmoid = this->layer_param_;
  sigmoid.set_type("Sigmoid");
  sigmoid.clear_loss_weight();
  sigmoid_layer_.reset(new SigmoidLayer<Dtype>(sigmoid));
  sigmoid_layer_->SetUp(sigmoid_bottom_vec_, sigmoid_top_vec_);
}

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  CHECK_EQ(bottom[0]->count(), bottom[1]->count())
      << "Layer " << this->layer_param_.name()
      << ": SigmoidCrossEntropyLoss layer inputs must have the same count; their shapes are "
      << bottom[0]->shape_string() << " and " << bottom[1]->shape_string() << ".";
  outer_num_ = bottom[0]->shape(0);
  inner_num_ = bottom[0]->count(1);
  if (!IsDerived(*this)) return;
  sigmoid_bottom_vec_ = {bottom[0]};
  sigmoid_output_->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
Dtype SigmoidCrossEntropyLossLayer<Dtype>::get_normalizer(
    LossParameter_NormalizationMode normalization_mode, int valid_count) {
  return static_cast<Dtype>(LossDivisor(normalization_mode, outer_num_, inner_num_, valid_count));
}

template <typename Dtype>
bool SigmoidCrossEntropyLossLayer<Dtype>::Counts() const {
  return has_ignore_label_ && normalization_ == LossParameter_NormalizationMode_VALID;
}

template <typename Dtype>
kernels::Normalizer SigmoidCrossEntropyLossLayer<Dtype>::NormalizerOf(
    const kernels::LabelCounts* counts) const {
  if (IsDerived(*this)) return {normalizer_, counts};
  return {Counts() ? 0 : LossDivisor(normalization_, outer_num_, inner_num_, -1), counts};
}

template <typename Dtype>
MemoryTraits SigmoidCrossEntropyLossLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                                         const vector<Blob<Dtype>*>& top,
                                                         const vector<bool>& propagate_down) const {
  if (IsDerived(*this)) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  const int64_t value = sizeof(Dtype), counts = sizeof(kernels::LabelCounts);
  const int64_t losses = value * kernels::SigmoidLossSums(bottom[0]->count());
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {{"sigmoid", value * bottom[0]->count()}};
  traits.forward.reads = {BottomData(0), BottomData(1)};
  traits.forward.writes = {TopData(0)};
  traits.forward.workspace_bytes = counts + losses;
  if (!propagate_down[0]) return traits;
  const auto add_variant = [&](const char* name, const Operand& source) {
    OperandVariant variant;
    variant.name = name;
    variant.reads = {source, BottomData(1), TopDiff(0)};
    variant.writes = {BottomDiff(0)};
    variant.may_alias = {{BottomDiff(0), source}, {BottomDiff(0), BottomData(1)}};
    if (Counts()) variant.workspace_bytes = counts;
    traits.backward.push_back(variant);
  };
  add_variant("x", BottomData(0));
  add_variant("sigmoid", Saved(0));
  return traits;
}

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                                    const vector<Blob<Dtype>*>& bottom,
                                                    const vector<Blob<Dtype>*>& top) {
  const int64_t n = bottom[0]->count();
  const Dtype* x = Data(context, *bottom[0]);
  const kernels::Labels<Dtype> targets{Data(context, *bottom[1]), has_ignore_label_, ignore_label_};
  const int64_t bytes = sizeof(kernels::LabelCounts) + sizeof(Dtype) * kernels::SigmoidLossSums(n);
  auto* counts = IsDerived(*this)
                     ? OwnWorkspace<kernels::LabelCounts>(context, bytes, &this->own_workspace_)
                     : this->template WorkspaceBytes<kernels::LabelCounts>();
  Dtype* sums = reinterpret_cast<Dtype*>(counts + 1);
  Dtype* const sigmoid = IsDerived(*this) ? MutableData(context, sigmoid_output_.get())
                                          : this->template SavedBytes<Dtype>(0);
  if (sigmoid) kernels::SigmoidForward(context, n, x, sigmoid);
  kernels::SigmoidLosses(context, n, x, targets, sums);
  if (IsDerived(*this) || Counts()) kernels::CountTargets(context, n, targets, counts);
  if (IsDerived(*this))
    normalizer_ = get_normalizer(normalization_, ReadValidCount(context, counts));
  kernels::TotalLoss(context, kernels::SigmoidLossSums(n), sums, NormalizerOf(counts),
                     MutableData(context, top[0]));
}

template <typename Dtype>
void SigmoidCrossEntropyLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                                     const vector<Blob<Dtype>*>& top,
                                                     const vector<bool>& propagate_down,
                                                     const vector<Blob<Dtype>*>& bottom) {
  this->CheckNoTargetGradient(propagate_down);
  if (!propagate_down[0]) return;
  const int64_t n = bottom[0]->count();
  const kernels::Labels<Dtype> targets{Data(context, *bottom[1]), has_ignore_label_, ignore_label_};
  auto* counts = this->template WorkspaceBytes<kernels::LabelCounts>();
  if (!IsDerived(*this) && Counts()) kernels::CountTargets(context, n, targets, counts);
  const Dtype* const sigmoid =
      IsDerived(*this) ? Data(context, *sigmoid_output_) : this->template SavedBytes<Dtype>(0);
  kernels::SigmoidLossBackward(context, n, sigmoid ? sigmoid : Data(context, *bottom[0]),
                               sigmoid != nullptr, targets, NormalizerOf(counts),
                               Diff(context, *top[0]), MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(SigmoidCrossEntropyLossLayer);
REGISTER_LAYER_CLASS(SigmoidCrossEntropyLoss);
REGISTER_NO_LAYER_AXES(SigmoidCrossEntropyLoss, "a loss is normalized over the whole batch");

}  // namespace caffe
