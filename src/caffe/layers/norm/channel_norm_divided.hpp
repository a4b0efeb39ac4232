#ifndef CAFFE_LAYERS_NORM_CHANNEL_NORM_DIVIDED_HPP_
#define CAFFE_LAYERS_NORM_CHANNEL_NORM_DIVIDED_HPP_

// For channel_norm_layer.cpp: ChannelNormLayer when the items of a batch are divided among devices.
// The statistics are over the items of all devices. Runs on the host.
#include <algorithm>

#include "caffe/kernels/norm/batch_norm.hpp"
#include "caffe/layers/channel_norm_layer.hpp"
#include "caffe/util/layout_proto.hpp"
#include "caffe/util/redistribution.hpp"

namespace caffe {
namespace channel_norm {

/// The number of parts into which the items are divided.
inline int ItemParts(const DeviceLayout& layout) {
  return static_cast<int>(Parts(FromProto(layout), 0));
}

/// Calls `use(channel, index)` for each value.
template <typename Use>
void ForEachValue(const ChannelShape& shape, const Use& use) {
  for (int64_t n = 0, i = 0; n < shape.outer; ++n) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      for (int64_t k = 0; k < shape.inner; ++k, ++i) use(c, i);
    }
  }
}

}  // namespace channel_norm

template <typename Dtype>
bool ChannelNormLayer<Dtype>::ItemsAreDivided() const {
  return this->layer_param_.has_layout() &&
         channel_norm::ItemParts(this->layer_param_.layout()) > 1;
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::SumOverDevices(Dtype* numbers, int count) {
  layrub::Layout part{{count}, {}, {}}, whole = part;
  for (const layrub::Level& level : FromProto(this->layer_param_.layout()).levels) {
    whole.levels.push_back(layrub::Whole());
    part.levels.push_back(level == layrub::Cut(0) ? layrub::Part() : layrub::Whole());
  }
  CHECK(group_) << "Layer " << this->layer_param_.name()
                << ": a net that is divided among devices runs on these only.";
  const Redistribution sum(part, whole);
  vector<Dtype> sums(static_cast<size_t>(count)), room(static_cast<size_t>(sum.room()));
  sum.Run(group_, numbers, sums.data(), room.data());
  std::copy(sums.begin(), sums.end(), numbers);
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::ForwardDivided(const ChannelShape& shape, const Dtype* x, Dtype* y,
                                             Dtype* mean, Dtype* inverse, Dtype* normalized) {
  const DeviceContext host;
  const auto values =
      static_cast<Dtype>(shape.PerChannel() * channel_norm::ItemParts(this->layer_param_.layout()));
  std::fill_n(mean, channels_, Dtype(0));
  channel_norm::ForEachValue(shape, [&](int64_t c, int64_t i) { mean[c] += x[i]; });
  SumOverDevices(mean, channels_);
  for (int c = 0; c < channels_; ++c) mean[c] /= values;
  vector<Dtype> variance(static_cast<size_t>(channels_));
  channel_norm::ForEachValue(
      shape, [&](int64_t c, int64_t i) { variance[c] += (x[i] - mean[c]) * (x[i] - mean[c]); });
  SumOverDevices(variance.data(), channels_);
  for (int c = 0; c < channels_; ++c) variance[c] /= values;
  if (!this->recomputing()) {
    ChannelShape all = shape;
    all.outer *= channel_norm::ItemParts(this->layer_param_.layout());
    const kernels::RunningStatistics<Dtype> running = Running(host, all);
    for (int c = 0; c < channels_; ++c) {
      running.mean[c] = running.keep * running.mean[c] + running.mean_weight * mean[c];
      running.variance[c] =
          running.keep * running.variance[c] + running.variance_weight * variance[c];
    }
    if (running.count) *running.count = running.keep * *running.count + 1;
  }
  kernels::InverseDeviation<Dtype>(host, channels_, eps_, variance.data(), inverse);
  const kernels::AfterNormalizing<Dtype> after = After(host, true, true);
  kernels::Normalize<Dtype>(host, shape, x, mean, inverse, after, y, normalized);
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::BackwardDivided(const ChannelShape& shape,
                                              const kernels::NormalizedSource<Dtype>& source,
                                              const Dtype* dy,
                                              const kernels::NormalizeGradients<Dtype>& gradients) {
  const auto values =
      static_cast<Dtype>(shape.PerChannel() * channel_norm::ItemParts(this->layer_param_.layout()));
  const DeviceContext host;
  const Dtype* const scale = Scales() ? Data(host, *this->blobs_[scale_param_]) : nullptr;
  const auto normalized = [&](int64_t c, int64_t i) {
    return source.mean ? (source.values[i] - source.mean[c]) * source.inverse[c] : source.values[i];
  };
  // Sums of the derivative, and of its products with the normalised values.
  vector<Dtype> sums(2 * static_cast<size_t>(channels_));
  Dtype* const products = sums.data() + channels_;
  channel_norm::ForEachValue(shape, [&](int64_t c, int64_t i) {
    sums[c] += dy[i];
    products[c] += dy[i] * normalized(c, i);
  });
  for (int c = 0; c < channels_; ++c) {  // parts, as those of all parameters
    gradients.scale.Add(c, products[c]);
    gradients.bias.Add(c, sums[c]);
  }
  SumOverDevices(sums.data(), 2 * channels_);
  channel_norm::ForEachValue(shape, [&](int64_t c, int64_t i) {
    const Dtype h = dy[i] - (sums[c] + products[c] * normalized(c, i)) / values;
    gradients.dx[i] = (scale ? scale[c] * h : h) * source.inverse[c];
  });
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_NORM_CHANNEL_NORM_DIVIDED_HPP_
