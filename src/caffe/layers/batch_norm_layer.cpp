#include "caffe/layers/batch_norm_layer.hpp"

#include "caffe/kernels/batch_norm.hpp"

namespace caffe {
namespace {

enum Parameter { kMeanSum, kVarianceSum, kCount, kNumParameters };
enum SavedIndex { kMean, kInverse, kNormalized };
enum Form { kFromTop, kFromBottom, kFromSaved };

}  // namespace

template <typename Dtype>
void BatchNormLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>&) {
  const BatchNormParameter& param = this->layer_param_.batch_norm_param();
  const string& name = this->layer_param_.name();
  moving_average_fraction_ = param.moving_average_fraction();
  use_global_stats_ =
      param.has_use_global_stats() ? param.use_global_stats() : this->phase_ == TEST;
  eps_ = param.eps();
  channels_ = bottom[0]->num_axes() == 1 ? 1 : bottom[0]->shape(1);
  if (!this->blobs_.empty()) {
    CHECK_EQ(this->blobs_.size(), kNumParameters)
        << "Layer " << name << ": Incorrect number of weight blobs.";
    LOG(INFO) << "Skipping parameter initialization";
  } else {
    for (const int size : {channels_, channels_, 1}) {
      this->blobs_.emplace_back(new Blob<Dtype>(vector<int>(1, size)));
    }
  }
  for (int i = 0; i < kNumParameters; ++i) {
    CHECK_EQ(this->blobs_[i]->count(), i == kCount ? 1 : channels_)
        << "Layer " << name << ": parameter " << i << " has shape "
        << this->blobs_[i]->shape_string() << ".";
    // The statistics are not learned: the solver must leave them alone.
    if (this->layer_param_.param_size() == i) this->layer_param_.add_param()->set_lr_mult(0);
    CHECK_EQ(this->layer_param_.param(i).lr_mult(), 0)
        << "Layer " << name
        << ": Cannot configure batch normalization statistics as layer parameters.";
  }
}

template <typename Dtype>
void BatchNormLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  CHECK_GE(bottom[0]->num_axes(), 1)
      << "Layer " << this->layer_param_.name() << ": its input has no axes.";
  CHECK_EQ(bottom[0]->num_axes() == 1 ? 1 : bottom[0]->shape(1), channels_)
      << "Layer " << this->layer_param_.name() << ": the number of channels may not change.";
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
kernels::ChannelShape BatchNormLayer<Dtype>::Shape(const Blob<Dtype>& bottom) const {
  return {bottom.shape(0), channels_, bottom.num_axes() == 1 ? 1 : bottom.count(2)};
}

template <typename Dtype>
MemoryTraits BatchNormLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>&,
                                           const vector<bool>& propagate_down) const {
  const int64_t channel_bytes = channels_ * sizeof(Dtype);
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {{"mean", channel_bytes},
                  {"inverse_deviation", channel_bytes},
                  {"x_norm", static_cast<int64_t>(bottom[0]->count() * sizeof(Dtype))}};
  OperandForm& forward = traits.forward;
  forward.name = use_global_stats_ ? "global" : "batch";
  forward.reads = {BottomData(0)};
  forward.writes = {TopData(0)};
  for (int i = 0; i < kNumParameters; ++i) {
    forward.reads.push_back(ParamData(i));
    if (!use_global_stats_) forward.writes.push_back(ParamData(i));
  }
  forward.may_alias = {{TopData(0), BottomData(0)}};
  forward.scratch_bytes = 2 * channel_bytes;
  forward.flops = (use_global_stats_ ? 2.0 : 6.0) * bottom[0]->count();
  OperandForm backward;
  if (propagate_down[0]) {
    backward.reads = {TopDiff(0), Saved(kInverse)};
    backward.writes = {BottomDiff(0)};
    backward.may_alias = {{BottomDiff(0), TopDiff(0)}};
    backward.scratch_bytes = use_global_stats_ ? 0 : 2 * channel_bytes;
    backward.flops = (use_global_stats_ ? 1.0 : 8.0) * bottom[0]->count();
  }
  if (use_global_stats_) {
    backward.name = "constant";
    traits.backward = {backward};
    return traits;
  }
  const auto with = [&](const char* name, const Operand& source) {
    OperandForm form = backward;
    form.name = name;
    if (propagate_down[0]) {
      form.reads.push_back(source);
      form.may_alias.emplace_back(BottomDiff(0), source);
    }
    return form;
  };
  traits.backward = {with("y", TopData(0)), with("x", BottomData(0)),
                     with("x_norm", Saved(kNormalized))};
  if (propagate_down[0]) traits.backward[kFromBottom].reads.push_back(Saved(kMean));
  return traits;
}

template <typename Dtype>
void BatchNormLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                      const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const kernels::ChannelShape shape = Shape(*bottom[0]);
  Dtype* scratch = this->template ScratchBytes<Dtype>();
  Dtype* saved_mean = this->template SavedBytes<Dtype>(kMean);
  Dtype* saved_inverse = this->template SavedBytes<Dtype>(kInverse);
  Dtype* mean = saved_mean != nullptr ? saved_mean : scratch;
  Dtype* variance = saved_inverse != nullptr ? saved_inverse : scratch + channels_;
  const Dtype* x = Data(context, *bottom[0]);
  if (use_global_stats_) {
    kernels::AverageStatistics(context, channels_, Data(context, *this->blobs_[kMeanSum]),
                               Data(context, *this->blobs_[kVarianceSum]),
                               Data(context, *this->blobs_[kCount]), mean, variance);
  } else {
    kernels::ChannelStatistics(context, shape, x, mean, variance);
    // The batch counts once, however often its values are computed.
    if (!this->recomputing()) {
      kernels::AccumulateStatistics<Dtype>(context, shape, moving_average_fraction_, mean, variance,
                                           MutableData(context, this->blobs_[kMeanSum].get()),
                                           MutableData(context, this->blobs_[kVarianceSum].get()),
                                           MutableData(context, this->blobs_[kCount].get()));
    }
  }
  Dtype* inverse = variance;
  kernels::InverseDeviation<Dtype>(context, channels_, eps_, variance, inverse);
  kernels::Normalize<Dtype>(context, shape, x, mean, inverse, MutableData(context, top[0]),
                            this->template SavedBytes<Dtype>(kNormalized));
}

template <typename Dtype>
void BatchNormLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                       const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const kernels::ChannelShape shape = Shape(*bottom[0]);
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  const Dtype* inverse = this->template SavedBytes<Dtype>(kInverse);
  if (use_global_stats_) {
    kernels::NormalizeBackwardConstant(context, shape, inverse, dy, dx);
    return;
  }
  kernels::NormalizedSource<Dtype> source{nullptr, nullptr, inverse};
  switch (this->form()) {
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
  kernels::NormalizeBackward(context, shape, source, dy, dx, this->template ScratchBytes<Dtype>());
}

INSTANTIATE_CLASS(BatchNormLayer);
REGISTER_LAYER_CLASS(BatchNorm);

}  // namespace caffe
