#include "caffe/layers/channel_norm_layer.hpp"

#include <typeinfo>

#include "caffe/device_group.hpp"
#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/norm/batch_norm.hpp"
#include "caffe/layers/relu_layer.hpp"
#include "caffe/layers/scale_layer.hpp"
#include "channel_norm_divided.hpp"

namespace caffe {
namespace {

enum ChannelNormSavedIndex { kChannelNormMean, kChannelNormInverse, kChannelNormNormalized };
/// The variants in the order of Traits. There is no first one if the top does not suffice.
enum ChannelNormVariant { kChannelNormFromTop, kChannelNormFromBottom, kChannelNormFromSaved };

}  // namespace

template <typename Dtype>
ChannelNormLayer<Dtype>::ChannelNormLayer(const LayerParameter& param)
    : Layer<Dtype>(param), group_(DeviceGroupScope::Current()) {}

template <typename Dtype>
int ChannelNormLayer<Dtype>::ChannelsOf(const Blob<Dtype>& bottom) {
  return bottom.num_axes() <= 1 ? 1 : bottom.shape(1);
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  CHECK_GE(bottom[0]->num_axes(), 1)
      << "Layer " << this->layer_param_.name() << ": its input has no axes.";
  CHECK_EQ(ChannelsOf(*bottom[0]), channels_)
      << "Layer " << this->layer_param_.name() << ": the number of channels may not change.";
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
ChannelShape ChannelNormLayer<Dtype>::Shape(const Blob<Dtype>& bottom) const {
  return {bottom.shape(0), channels_, bottom.num_axes() == 1 ? 1 : bottom.count(2),
          bottom.channel_block()};
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::ShareSetUp(const ChannelNormLayer& other) {
  this->layer_param_ = other.layer_param_;
  this->layer_param_.clear_blobs();
  this->phase_ = other.phase_;
  this->blobs_ = other.blobs_;
  this->param_propagate_down_ = other.param_propagate_down_;
  this->param_propagate_down_.resize(this->blobs_.size());
  use_global_stats_ = other.use_global_stats_;
  eps_ = other.eps_;
  channels_ = other.channels_;
  statistics_ = other.statistics_;
  scale_param_ = other.scale_param_;
  bias_param_ = other.bias_param_;
}

template <typename Dtype>
bool ChannelNormLayer<Dtype>::IsSubclass() const {
  const shared_ptr<ChannelNormLayer> twin = CloneWithSharedParams();
  return typeid(*twin) != typeid(*this);
}

template <typename Dtype>
shared_ptr<Layer<Dtype>> ChannelNormLayer<Dtype>::FusedWith(
    Layer<Dtype>& next, const vector<Blob<Dtype>*>& bottom) const {
  if (has_relu_ || bottom[0]->num_axes() < 2) return nullptr;
  if (IsSubclass() || ItemParts() > 1) return nullptr;
  const shared_ptr<ChannelNormLayer> fused = CloneWithSharedParams();
  if (typeid(next) == typeid(ReLULayer<Dtype>)) {
    fused->has_relu_ = true;
    fused->negative_slope_ = static_cast<ReLULayer<Dtype>&>(next).Slope();
    return fused;
  }
  if (Scales() || typeid(next) != typeid(ScaleLayer<Dtype>) ||
      !static_cast<ScaleLayer<Dtype>&>(next).ScalesChannels(*bottom[0]))
    return nullptr;
  const auto& blobs = next.blobs();
  fused->scale_param_ = static_cast<int>(this->blobs_.size());
  if (blobs.size() > 1) fused->bias_param_ = fused->scale_param_ + 1;
  for (size_t i = 0; i < blobs.size(); ++i) {
    fused->blobs_.push_back(blobs[i]);
    fused->param_propagate_down_.push_back(next.param_propagate_down(static_cast<int>(i)));
  }
  return fused;
}

template <typename Dtype>
typename ChannelNormLayer<Dtype>::Wants ChannelNormLayer<Dtype>::WantsOf(
    const vector<bool>& propagate_down) const {
  Wants wants;
  wants.scale = Wanted(scale_param_);
  wants.bias = Wanted(bias_param_);
  wants.dx = propagate_down[0];
  wants.values = wants.scale || (wants.dx && !use_global_stats_);
  wants.sign = has_relu_ && (wants.scale || wants.bias || wants.dx);
  wants.top_suffices = wants.values ? !Scales() && !has_relu_ : wants.sign && negative_slope_ >= 0;
  return wants;
}

template <typename Dtype>
MemoryTraits ChannelNormLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& /*top*/,
                                             const vector<bool>& propagate_down) const {
  const int64_t channel_bytes = channels_ * sizeof(Dtype);
  const double values = bottom[0]->count();
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsSubclass();
  traits.capturable = traits.takes_blocks = ItemParts() == 1;
  traits.saved = {{"mean", channel_bytes},
                  {"inverse_deviation", channel_bytes},
                  {"x_norm", static_cast<int64_t>(bottom[0]->count() * sizeof(Dtype))}};
  OperandVariant& forward = traits.forward;
  forward.name = use_global_stats_ ? "global" : "batch";
  forward.reads = {BottomData(0)};
  forward.writes = {TopData(0)};
  for (const int i : statistics_) {
    forward.reads.push_back(ParamData(i));
    if (!use_global_stats_) forward.writes.push_back(ParamData(i));
  }
  for (const int param : {scale_param_, bias_param_}) {
    if (param >= 0) forward.reads.push_back(ParamData(param));
  }
  forward.may_alias = {{TopData(0), BottomData(0)}};
  const DeviceSum sum = SumOfItems();
  forward.workspace_bytes = 2 * channel_bytes + sum.workspace(channels_) * sizeof(Dtype);
  forward.flops =
      ((use_global_stats_ ? 2.0 : 6.0) + Scales() + (bias_param_ >= 0) + has_relu_) * values;

  const Wants wants = WantsOf(propagate_down);
  OperandVariant backward;
  if (wants.dx || wants.scale || wants.bias) backward.reads = {TopDiff(0)};
  backward.flops = (2.0 * wants.scale + wants.bias + wants.sign) * values;
  for (const int param : {scale_param_, bias_param_}) {
    if (!Wanted(param)) continue;
    backward.reads.push_back(ParamDiff(param));
    backward.writes.push_back(ParamDiff(param));
  }
  if (wants.dx) {
    backward.reads.push_back(Saved(kChannelNormInverse));
    if (Scales()) backward.reads.push_back(ParamData(scale_param_));
    backward.writes.push_back(BottomDiff(0));
    backward.may_alias = {{BottomDiff(0), TopDiff(0)}};
    if (!use_global_stats_)
      backward.workspace_bytes = 2 * channel_bytes + sum.workspace(2 * channels_) * sizeof(Dtype);
    backward.flops += (use_global_stats_ ? 1.0 : 8.0) * values;
  }
  if (!wants.values && !wants.sign) {
    backward.name = "constant";
    traits.backward = {backward};
    return traits;
  }
  const auto with = [&](const char* name, const Operand& source) {
    OperandVariant variant = backward;
    variant.name = name;
    variant.from_copy = source.kind == Operand::kSaved;
    variant.reads.push_back(source);
    const bool only_sign = source == TopData(0) && !wants.values;
    // The sums are computed before the gradient is written.
    if (wants.dx && !only_sign) variant.may_alias.emplace_back(BottomDiff(0), source);
    if (source == BottomData(0)) {
      variant.reads.push_back(Saved(kChannelNormMean));
      if (!wants.dx) variant.reads.push_back(Saved(kChannelNormInverse));
    }
    if (source == TopData(0) || !wants.sign) return variant;
    if (Scales() && !wants.dx) variant.reads.push_back(ParamData(scale_param_));
    if (bias_param_ >= 0) variant.reads.push_back(ParamData(bias_param_));
    return variant;
  };
  if (wants.top_suffices) traits.backward.push_back(with("y", TopData(0)));
  traits.backward.push_back(with("x", BottomData(0)));
  traits.backward.push_back(with("x_norm", Saved(kChannelNormNormalized)));
  return traits;
}

template <typename Dtype>
kernels::AfterNormalizing<Dtype> ChannelNormLayer<Dtype>::After(const DeviceContext& context,
                                                                bool scale, bool bias) const {
  kernels::AfterNormalizing<Dtype> after;
  if (scale && Scales()) after.scale = Data(context, *this->blobs_[scale_param_]);
  if (bias && bias_param_ >= 0) after.bias = Data(context, *this->blobs_[bias_param_]);
  after.rectify = has_relu_;
  after.slope = negative_slope_;
  return after;
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                        const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  const ChannelShape shape = Shape(*bottom[0]);
  Dtype* workspace = this->template WorkspaceBytes<Dtype>();
  Dtype* saved_mean = this->template SavedBytes<Dtype>(kChannelNormMean);
  Dtype* saved_inverse = this->template SavedBytes<Dtype>(kChannelNormInverse);
  Dtype* mean = saved_mean != nullptr ? saved_mean : workspace;
  Dtype* inverse = saved_inverse != nullptr ? saved_inverse : workspace + channels_;
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* y = MutableData(context, top[0]);
  Dtype* normalized = this->template SavedBytes<Dtype>(kChannelNormNormalized);
  const kernels::AfterNormalizing<Dtype> after = After(context, true, true);
  if (use_global_stats_) {
    ReadStatistics(context, mean, inverse);
    kernels::InverseDeviation<Dtype>(context, channels_, eps_, inverse, inverse);
    kernels::Normalize<Dtype>(context, shape, x, mean, inverse, after, y, normalized);
    return;
  }
  if (ItemParts() > 1) {
    ForwardDivided(context, shape, x, y, mean, inverse, normalized, workspace + 2 * channels_);
    return;
  }
  // A batch updates the running statistics once, however often it is recomputed.
  kernels::RunningStatistics<Dtype> running;
  if (!this->recomputing()) running = Running(context, shape);
  kernels::NormalizeBatch<Dtype>(context, shape, x, kernels::Epsilon::kOfVariance, eps_, running,
                                 mean, inverse, after, y, normalized);
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                         const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  const Wants wants = WantsOf(propagate_down);
  if (!wants.dx && !wants.scale && !wants.bias) return;
  const ChannelShape shape = Shape(*bottom[0]);
  const Dtype* dy = Diff(context, *top[0]);
  kernels::NormalizedSource<Dtype> source;
  source.inverse = this->template SavedBytes<Dtype>(kChannelNormInverse);
  const int variant =
      this->variant() + (wants.top_suffices ? kChannelNormFromTop : kChannelNormFromBottom);
  if (wants.values || wants.sign) {
    switch (variant) {
      case kChannelNormFromTop:
        (wants.values ? source.values : source.rectified) = Data(context, *top[0]);
        break;
      case kChannelNormFromBottom:
        source.values = Data(context, *bottom[0]);
        source.mean = this->template SavedBytes<Dtype>(kChannelNormMean);
        break;
      case kChannelNormFromSaved:
        source.values = this->template SavedBytes<Dtype>(kChannelNormNormalized);
        break;
    }
  }
  const bool computes_sign = wants.sign && variant != kChannelNormFromTop;
  const kernels::AfterNormalizing<Dtype> after =
      After(context, wants.dx || computes_sign, computes_sign);
  kernels::NormalizeGradients<Dtype> gradients;
  if (wants.scale)
    gradients.scale = kernels::AccumulatorOf(context, this->blobs_[scale_param_].get());
  if (wants.bias) gradients.bias = kernels::AccumulatorOf(context, this->blobs_[bias_param_].get());
  if (wants.dx) gradients.dx = MutableDiff(context, bottom[0]);
  if (!use_global_stats_ && wants.dx && ItemParts() > 1) {
    BackwardDivided(context, shape, source, after, dy, gradients,
                    this->template WorkspaceBytes<Dtype>());
  } else if (use_global_stats_ || !wants.dx) {
    kernels::NormalizeBackwardConstant(context, shape, source, after, dy, gradients);
  } else {
    kernels::NormalizeBackward(context, shape, source, after, dy, gradients,
                               this->template WorkspaceBytes<Dtype>());
  }
}

INSTANTIATE_CLASS(ChannelNormLayer);

}  // namespace caffe
