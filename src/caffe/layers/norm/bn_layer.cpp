#include "caffe/layers/bn_layer.hpp"

#include "caffe/filler.hpp"
#include "caffe/kernels/norm/batch_norm.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layers/fork_type.hpp"
#include "channel_norm_rule.hpp"

namespace caffe {
namespace {

enum BnParam { kBnSlope, kBnBias, kBnMean, kBnVariance };

/// Returns the filler that is given under one of its two names; a constant `value` if there is
/// none.
FillerParameter FillerByEitherName(const string& layer, const char* names, bool has_first,
                                   const FillerParameter& first, bool has_second,
                                   const FillerParameter& second, float value) {
  CHECK(!has_first || !has_second || first.SerializeAsString() == second.SerializeAsString())
      << "Layer " << layer << ": " << names << " are one filler; give one of them.";
  if (has_first) return first;
  if (has_second) return second;
  FillerParameter filler;
  filler.set_value(value);
  return filler;
}

/// Creates the layer's blobs: slope and bias, then statistics, each 1 x C x 1 x 1.
template <typename Dtype>
void MakeBlobs(const LayerParameter& layer, int channels, size_t number,
               vector<shared_ptr<Blob<Dtype>>>* blobs) {
  const BNParameter& param = layer.bn_param();
  const string& name = layer.name();
  if (!blobs->empty()) {
    CHECK_EQ(blobs->size(), number) << "Layer " << name << ": Incorrect number of weight blobs.";
    LOG(INFO) << "Skipping parameter initialization";
  } else {
    for (size_t i = 0; i < number; ++i)
      blobs->emplace_back(new Blob<Dtype>(vector<int>{1, channels, 1, 1}));
    FillerParameter one;
    one.set_value(1);
    const auto fill = [&](int i, const FillerParameter& filler) {
      shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(filler))->Fill((*blobs)[i].get());
    };
    fill(kBnSlope, FillerByEitherName(name, "slope_filler and scale_filler",
                                      param.has_slope_filler(), param.slope_filler(),
                                      param.has_scale_filler(), param.scale_filler(), 1));
    fill(kBnBias, FillerByEitherName(name, "bias_filler and shift_filler", param.has_bias_filler(),
                                     param.bias_filler(), param.has_shift_filler(),
                                     param.shift_filler(), 0));
    if (number > kBnVariance) fill(kBnVariance, one);
  }
  for (size_t i = 0; i < number; ++i) {
    CHECK_EQ((*blobs)[i]->count(), channels) << "Layer " << name << ": parameter " << i
                                             << " has shape " << (*blobs)[i]->shape_string() << ".";
  }
}

}  // namespace

template <typename Dtype>
void BNLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& /*top*/) {
  const BNParameter& param = this->layer_param_.bn_param();
  const string& name = this->layer_param_.name();
  CHECK(!param.has_eps() || !param.has_var_eps() || param.eps() == param.var_eps())
      << "Layer " << name << ": eps and var_eps are one number; give one of them.";
  momentum_ = param.momentum();
  this->use_global_stats_ = param.frozen() || this->phase_ == TEST;
  this->eps_ = param.has_var_eps() ? param.var_eps() : param.eps();
  this->channels_ = this->ChannelsOf(*bottom[0]);
  this->statistics_ = {kBnMean, kBnVariance};
  this->scale_param_ = kBnSlope;
  this->bias_param_ = kBnBias;
  MakeBlobs(this->layer_param_, this->channels_, kBnVariance + 1, &this->blobs_);
  // The statistics are not learned, so the solver must not change them.
  while (this->layer_param_.param_size() <= kBnVariance) this->layer_param_.add_param();
  for (const int i : this->statistics_) {
    this->layer_param_.mutable_param(i)->set_lr_mult(0);
    this->layer_param_.mutable_param(i)->set_decay_mult(0);
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
shared_ptr<ChannelNormLayer<Dtype>> BNLayer<Dtype>::CloneWithSharedParams() const {
  shared_ptr<BNLayer> twin(new BNLayer(LayerParameter()));
  twin->ShareSetUp(*this);
  twin->momentum_ = momentum_;
  return twin;
}

template <typename Dtype>
void BNLayer<Dtype>::ReadStatistics(const DeviceContext& context, Dtype* mean,
                                    Dtype* variance) const {
  kernels::Copy(context, this->channels_, Data(context, *this->blobs_[kBnMean]), mean);
  kernels::Copy(context, this->channels_, Data(context, *this->blobs_[kBnVariance]), variance);
}

template <typename Dtype>
kernels::RunningStatistics<Dtype> BNLayer<Dtype>::Running(const DeviceContext& context,
                                                          const ChannelShape& /*shape*/) {
  kernels::RunningStatistics<Dtype> running;
  running.keep = momentum_;
  running.mean_weight = running.variance_weight = 1 - momentum_;
  running.mean = MutableData(context, this->blobs_[kBnMean].get());
  running.variance = MutableData(context, this->blobs_[kBnVariance].get());
  return running;
}

template <typename Dtype>
void FoldedBNLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/) {
  this->bias_term_ = true;
  this->bias_param_id_ = kBnBias;
  this->scale_dim_ = bottom[0]->num_axes() <= 1 ? 1 : bottom[0]->shape(1);
  MakeBlobs(this->layer_param_, this->scale_dim_, kBnBias + 1, &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void FoldedBNLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  CHECK_GE(bottom[0]->num_axes(), 1)
      << "Layer " << this->layer_param_.name() << ": its input has no axes.";
  CHECK_EQ(bottom[0]->num_axes() == 1 ? 1 : bottom[0]->shape(1), this->scale_dim_)
      << "Layer " << this->layer_param_.name() << ": the number of channels may not change.";
  this->outer_dim_ = bottom[0]->shape(0);
  this->inner_dim_ = bottom[0]->num_axes() == 1 ? 1 : bottom[0]->count(2);
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
static shared_ptr<Layer<Dtype>> MakeBNLayer(const LayerParameter& param) {
  if (param.bn_param().bn_mode() == BNParameter_BNMode_INFERENCE)
    return shared_ptr<Layer<Dtype>>(new FoldedBNLayer<Dtype>(param));
  return shared_ptr<Layer<Dtype>>(new BNLayer<Dtype>(param));
}

static LayerRule BNRule(const LayerShapes& shapes) { return ChannelNormRule(shapes, -1); }

INSTANTIATE_CLASS(BNLayer);
INSTANTIATE_CLASS(FoldedBNLayer);
REGISTER_FORK_LAYER_CREATOR(BN, MakeBNLayer);
REGISTER_LAYER_AXES(BN, BNRule);

}  // namespace caffe
