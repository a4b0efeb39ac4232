#include "caffe/layers/channel_norm_layer.hpp"

#include "caffe/kernels/batch_norm.hpp"
#include "caffe/kernels/bias.hpp"

namespace caffe {
namespace {

enum SavedIndex { kMean, kInverse, kNormalized };
/// A layer that scales has no form kFromTop: its forms are counted from the next one.
enum Form { kFromTop, kFromBottom, kFromSaved };

}  // namespace

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
kernels::ChannelShape ChannelNormLayer<Dtype>::Shape(const Blob<Dtype>& bottom) const {
  return {bottom.shape(0), channels_, bottom.num_axes() == 1 ? 1 : bottom.count(2)};
}

template <typename Dtype>
MemoryTraits ChannelNormLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& /*top*/,
                                             const vector<bool>& propagate_down) const {
  const int64_t channel_bytes = channels_ * sizeof(Dtype);
  const double values = bottom[0]->count();
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {{"mean", channel_bytes},
                  {"inverse_deviation", channel_bytes},
                  {"x_norm", static_cast<int64_t>(bottom[0]->count() * sizeof(Dtype))}};
  OperandForm& forward = traits.forward;
  forward.name = use_global_stats_ ? "global" : "batch";
  forward.reads = {BottomData(0)};
  forward.writes = {TopData(0)};
  for (const int i : statistics_) {
    forward.reads.push_back(ParamData(i));
    if (!use_global_stats_) forward.writes.push_back(ParamData(i));
  }
  if (Scales()) {
    forward.reads.push_back(ParamData(scale_param_));
    forward.reads.push_back(ParamData(bias_param_));
  }
  forward.may_alias = {{TopData(0), BottomData(0)}};
  forward.scratch_bytes = 2 * channel_bytes;
  forward.channelwise = true;
  forward.flops = ((use_global_stats_ ? 2.0 : 6.0) + (Scales() ? 2.0 : 0.0)) * values;

  const bool scale_gradient = Wanted(scale_param_), bias_gradient = Wanted(bias_param_);
  OperandForm backward;
  backward.channelwise = true;
  if (propagate_down[0] || scale_gradient || bias_gradient) backward.reads = {TopDiff(0)};
  backward.flops = (2.0 * scale_gradient + bias_gradient) * values;
  for (const int param : {scale_param_, bias_param_}) {
    if (!Wanted(param)) continue;
    backward.reads.push_back(ParamDiff(param));
    backward.writes.push_back(ParamDiff(param));
  }
  if (propagate_down[0]) {
    backward.reads.push_back(Saved(kInverse));
    if (Scales()) backward.reads.push_back(ParamData(scale_param_));
    backward.writes.push_back(BottomDiff(0));
    backward.may_alias = {{BottomDiff(0), TopDiff(0)}};
    backward.scratch_bytes = use_global_stats_ ? 0 : 2 * channel_bytes;
    backward.flops += (use_global_stats_ ? 1.0 : 8.0) * values;
  }
  if (use_global_stats_ && !scale_gradient) {
    backward.name = "constant";
    traits.backward = {backward};
    return traits;
  }
  const bool reads_values = scale_gradient || (propagate_down[0] && !use_global_stats_);
  const auto with = [&](const char* name, const Operand& source) {
    OperandForm form = backward;
    form.name = name;
    if (!reads_values) return form;
    form.reads.push_back(source);
    // The gradients of scale and bias come first.
    if (propagate_down[0]) form.may_alias.emplace_back(BottomDiff(0), source);
    if (source == BottomData(0)) {
      form.reads.push_back(Saved(kMean));
      if (!propagate_down[0]) form.reads.push_back(Saved(kInverse));
    }
    return form;
  };
  if (!Scales()) traits.backward.push_back(with("y", TopData(0)));
  traits.backward.push_back(with("x", BottomData(0)));
  traits.backward.push_back(with("x_norm", Saved(kNormalized)));
  return traits;
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                        const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  const kernels::ChannelShape shape = Shape(*bottom[0]);
  Dtype* scratch = this->template ScratchBytes<Dtype>();
  Dtype* saved_mean = this->template SavedBytes<Dtype>(kMean);
  Dtype* saved_inverse = this->template SavedBytes<Dtype>(kInverse);
  Dtype* mean = saved_mean != nullptr ? saved_mean : scratch;
  Dtype* inverse = saved_inverse != nullptr ? saved_inverse : scratch + channels_;
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* y = MutableData(context, top[0]);
  Dtype* normalized = this->template SavedBytes<Dtype>(kNormalized);
  kernels::ChannelAffine<Dtype> affine;
  if (Scales()) {
    affine = {Data(context, *this->blobs_[scale_param_]),
              Data(context, *this->blobs_[bias_param_])};
  }
  if (use_global_stats_) {
    ReadStatistics(context, mean, inverse);
    kernels::InverseDeviation<Dtype>(context, channels_, eps_, inverse, inverse);
    kernels::Normalize<Dtype>(context, shape, x, mean, inverse, affine, y, normalized);
    return;
  }
  // The batch counts once, however often its values are computed.
  kernels::RunningStatistics<Dtype> running;
  if (!this->recomputing()) running = Running(context, shape);
  kernels::NormalizeBatch<Dtype>(context, shape, x, kernels::Epsilon::kOfVariance, eps_, running,
                                 mean, inverse, affine, y, normalized);
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                         const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  const bool scale_gradient = Wanted(scale_param_);
  if (!propagate_down[0] && !scale_gradient && !Wanted(bias_param_)) return;
  const kernels::ChannelShape shape = Shape(*bottom[0]);
  const Dtype* dy = Diff(context, *top[0]);
  const Dtype* inverse = this->template SavedBytes<Dtype>(kInverse);
  kernels::NormalizedSource<Dtype> source{nullptr, nullptr, inverse};
  if (scale_gradient || (propagate_down[0] && !use_global_stats_)) {
    switch (this->form() + (Scales() ? kFromBottom : kFromTop)) {
      case kFromTop:
        source.values = Data(context, *top[0]);
        break;
      case kFromBottom:
        source.values = Data(context, *bottom[0]);
        source.mean = this->template SavedBytes<Dtype>(kMean);
        break;
      case kFromSaved:
        source.values = this->template SavedBytes<Dtype>(kNormalized);
        break;
    }
  }
  if (scale_gradient) {
    kernels::NormalizedScaleGradient(
        context, shape, source, dy,
        kernels::AccumulatorOf(context, this->blobs_[scale_param_].get()));
  }
  if (Wanted(bias_param_)) {
    kernels::BiasGradient(context, shape.outer, shape.channels, shape.inner, dy,
                          kernels::AccumulatorOf(context, this->blobs_[bias_param_].get()));
  }
  if (!propagate_down[0]) return;
  const Dtype* scale = Scales() ? Data(context, *this->blobs_[scale_param_]) : nullptr;
  Dtype* dx = MutableDiff(context, bottom[0]);
  if (use_global_stats_) {
    kernels::NormalizeBackwardConstant(context, shape, inverse, scale, dy, dx);
  } else {
    kernels::NormalizeBackward(context, shape, source, scale, dy, dx,
                               this->template ScratchBytes<Dtype>());
  }
}

INSTANTIATE_CLASS(ChannelNormLayer);

}  // namespace caffe
