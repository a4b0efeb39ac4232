#include "caffe/layers/batch_norm_layer.hpp"

#include "caffe/filler.hpp"
#include "caffe/kernels/norm/batch_norm.hpp"
#include "channel_norm_rule.hpp"

namespace caffe {
namespace {

enum BatchNormParam {
  kBatchNormMeanSum,
  kBatchNormVarianceSum,
  kBatchNormCount,
  kBatchNormScale,
  kBatchNormBias
};

template <typename Dtype>
void Fill(const FillerParameter& filler, Blob<Dtype>* blob) {
  shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(filler))->Fill(blob);
}

}  // namespace

template <typename Dtype>
void BatchNormLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& /*top*/) {
  const BatchNormParameter& param = this->layer_param_.batch_norm_param();
  const string& name = this->layer_param_.name();
  moving_average_fraction_ = param.moving_average_fraction();
  this->use_global_stats_ =
      param.has_use_global_stats() ? param.use_global_stats() : this->phase_ == TEST;
  this->eps_ = param.eps();
  this->channels_ = this->ChannelsOf(*bottom[0]);
  this->statistics_ = {kBatchNormMeanSum, kBatchNormVarianceSum, kBatchNormCount};
  if (param.scale_bias()) {
    this->scale_param_ = kBatchNormScale;
    this->bias_param_ = kBatchNormBias;
  }
  const size_t parameters = param.scale_bias() ? kBatchNormBias + 1 : kBatchNormCount + 1;
  if (!this->blobs_.empty()) {
    CHECK_EQ(this->blobs_.size(), parameters)
        << "Layer " << name << ": Incorrect number of weight blobs.";
    LOG(INFO) << "Skipping parameter initialization";
  } else {
    for (size_t i = 0; i < parameters; ++i) {
      this->blobs_.emplace_back(
          new Blob<Dtype>(vector<int>(1, i == kBatchNormCount ? 1 : this->channels_)));
    }
    if (param.scale_bias()) {
      FillerParameter scale_filler = param.scale_filler();
      if (!param.has_scale_filler()) scale_filler.set_value(1);
      Fill(scale_filler, this->blobs_[kBatchNormScale].get());
      Fill(param.bias_filler(), this->blobs_[kBatchNormBias].get());
    }
  }
  for (size_t i = 0; i < parameters; ++i) {
    CHECK_EQ(this->blobs_[i]->count(), i == kBatchNormCount ? 1 : this->channels_)
        << "Layer " << name << ": parameter " << i << " has shape "
        << this->blobs_[i]->shape_string() << ".";
  }
  for (const int i : this->statistics_) {
    // The statistics are not learned, so the solver must not change them.
    if (this->layer_param_.param_size() == i) this->layer_param_.add_param()->set_lr_mult(0);
    CHECK_EQ(this->layer_param_.param(i).lr_mult(), 0)
        << "Layer " << name
        << ": Cannot configure batch normalization statistics as layer parameters.";
  }
  if (param.scale_bias()) this->param_propagate_down_.resize(parameters, true);
}

template <typename Dtype>
shared_ptr<ChannelNormLayer<Dtype>> BatchNormLayer<Dtype>::CloneWithSharedParams() const {
  shared_ptr<BatchNormLayer> twin(new BatchNormLayer(LayerParameter()));
  twin->ShareSetUp(*this);
  twin->moving_average_fraction_ = moving_average_fraction_;
  return twin;
}

template <typename Dtype>
void BatchNormLayer<Dtype>::ReadStatistics(const DeviceContext& context, Dtype* mean,
                                           Dtype* variance) const {
  kernels::AverageStatistics(context, this->channels_,
                             Data(context, *this->blobs_[kBatchNormMeanSum]),
                             Data(context, *this->blobs_[kBatchNormVarianceSum]),
                             Data(context, *this->blobs_[kBatchNormCount]), mean, variance);
}

template <typename Dtype>
kernels::RunningStatistics<Dtype> BatchNormLayer<Dtype>::Running(const DeviceContext& context,
                                                                 const ChannelShape& shape) {
  const int64_t m = shape.PerChannel();
  kernels::RunningStatistics<Dtype> running;
  running.keep = moving_average_fraction_;
  running.mean_weight = 1;
  running.variance_weight = m > 1 ? Dtype(m) / Dtype(m - 1) : Dtype(1);  // unbiased
  running.mean = MutableData(context, this->blobs_[kBatchNormMeanSum].get());
  running.variance = MutableData(context, this->blobs_[kBatchNormVarianceSum].get());
  running.count = MutableData(context, this->blobs_[kBatchNormCount].get());
  return running;
}

/// Channels, which also divide the parameters, and items, over which statistics are summed.
static LayerRule BatchNormRule(const LayerShapes& shapes) {
  return ChannelNormRule(shapes, kBatchNormCount);
}

INSTANTIATE_CLASS(BatchNormLayer);
REGISTER_LAYER_CLASS(BatchNorm);
REGISTER_LAYER_AXES(BatchNorm, BatchNormRule);

}  // namespace caffe
