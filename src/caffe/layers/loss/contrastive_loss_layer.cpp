#include "caffe/layers/contrastive_loss_layer.hpp"

#include <algorithm>

#include "caffe/kernels/loss/contrastive_loss.hpp"
#include "caffe/kernels/loss/loss_sum.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

namespace {

enum ContrastiveSaved { kContrastiveDifference, kContrastiveSquared };

template <typename Dtype>
kernels::ContrastivePairs<Dtype> PairsOf(const Blob<Dtype>& a, const Dtype* labels,
                                         const ContrastiveLossParameter& param) {
  return {a.shape(0), a.count(1), labels, static_cast<Dtype>(param.margin()),
          param.legacy_version()};
}

}  // namespace

template <typename Dtype>
void ContrastiveLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  const string& name = this->layer_param_.name();
  CHECK_EQ(bottom[0]->count(1), bottom[1]->count(1))
      << "Layer " << name << ": the vectors to compare must have the same length; their shapes are "
      << bottom[0]->shape_string() << " and " << bottom[1]->shape_string() << ".";
  CHECK_EQ(bottom[0]->shape(0), bottom[2]->count())
      << "Layer " << name << ": there must be one label for each pair of vectors; vectors of shape "
      << bottom[0]->shape_string() << " need " << bottom[0]->shape(0) << " labels, not "
      << bottom[2]->count() << ".";
  if (!IsDerived(*this)) return;
  diff_.ReshapeLike(*bottom[0]);
  dist_sq_.Reshape({bottom[0]->shape(0)});
}

template <typename Dtype>
MemoryTraits ContrastiveLossLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>& top,
                                                 const vector<bool>& propagate_down) const {
  if (IsDerived(*this)) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  const int64_t value = sizeof(Dtype), losses = value * bottom[0]->shape(0);
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {{"difference", value * bottom[0]->count()}, {"squared", losses}};
  traits.forward.reads = {BottomData(0), BottomData(1), BottomData(2)};
  traits.forward.writes = {TopData(0)};
  traits.forward.workspace_bytes = losses;
  if (!propagate_down[0] && !propagate_down[1]) return traits;
  const auto add_variant = [&](const char* name, const vector<Operand>& vectors) {
    OperandVariant variant;
    variant.name = name;
    variant.reads = vectors;
    variant.reads.push_back(BottomData(2));
    variant.reads.push_back(TopDiff(0));
    for (int i = 0; i < 2; ++i) {
      if (!propagate_down[i]) continue;
      variant.writes.push_back(BottomDiff(i));
      for (const Operand& from : vectors) {
        if (from == Saved(kContrastiveSquared)) continue;
        variant.may_alias.emplace_back(BottomDiff(i), from);
      }
    }
    traits.backward.push_back(variant);
  };
  add_variant("bottoms", {BottomData(0), BottomData(1)});
  add_variant("difference", {Saved(kContrastiveDifference), Saved(kContrastiveSquared)});
  return traits;
}

template <typename Dtype>
void ContrastiveLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                            const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  const auto pairs =
      PairsOf(*bottom[0], Data(context, *bottom[2]), this->layer_param_.contrastive_loss_param());
  const bool derived = IsDerived(*this);
  const int64_t bytes = pairs.count * int64_t{sizeof(Dtype)};
  Dtype* losses = derived ? OwnWorkspace<Dtype>(context, bytes, &this->own_workspace_)
                          : this->template WorkspaceBytes<Dtype>();
  kernels::ContrastiveLosses(context, pairs, Data(context, *bottom[0]), Data(context, *bottom[1]),
                             derived ? MutableData(context, &diff_)
                                     : this->template SavedBytes<Dtype>(kContrastiveDifference),
                             derived ? MutableData(context, &dist_sq_)
                                     : this->template SavedBytes<Dtype>(kContrastiveSquared),
                             losses);
  const double twice = 2 * static_cast<double>(std::max<int64_t>(pairs.count, 1));
  kernels::TotalLoss(context, pairs.count, losses, {twice, nullptr}, MutableData(context, top[0]));
}

template <typename Dtype>
void ContrastiveLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                             const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  CHECK(!propagate_down[2]) << "Layer " << this->layer_param_.name() << " (" << this->type()
                            << ") cannot backpropagate to label inputs.";
  if (!propagate_down[0] && !propagate_down[1]) return;
  const bool derived = IsDerived(*this);
  const Dtype* const difference =
      derived ? Data(context, diff_) : this->template SavedBytes<Dtype>(kContrastiveDifference);
  const Dtype* const squared =
      derived ? Data(context, dist_sq_) : this->template SavedBytes<Dtype>(kContrastiveSquared);
  kernels::ContrastiveLossBackward(
      context,
      PairsOf(*bottom[0], Data(context, *bottom[2]), this->layer_param_.contrastive_loss_param()),
      difference ? difference : Data(context, *bottom[0]),
      difference ? nullptr : Data(context, *bottom[1]), squared, Diff(context, *top[0]),
      propagate_down[0] ? MutableDiff(context, bottom[0]) : nullptr,
      propagate_down[1] ? MutableDiff(context, bottom[1]) : nullptr);
}

INSTANTIATE_CLASS(ContrastiveLossLayer);
REGISTER_LAYER_CLASS(ContrastiveLoss);
REGISTER_NO_LAYER_AXES(ContrastiveLoss, "a loss is normalized over the whole batch");

}  // namespace caffe
