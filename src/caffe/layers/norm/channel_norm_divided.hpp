#ifndef CAFFE_LAYERS_NORM_CHANNEL_NORM_DIVIDED_HPP_
#define CAFFE_LAYERS_NORM_CHANNEL_NORM_DIVIDED_HPP_

// For channel_norm_layer.cpp: ChannelNormLayer when the items of a batch are divided among devices.
// The statistics are over the items of all devices.
#include "caffe/kernels/exchange/device_sum.hpp"
#include "caffe/kernels/math/eltwise.hpp"
#include "caffe/kernels/norm/batch_norm.hpp"
#include "caffe/layers/channel_norm_layer.hpp"
#include "caffe/util/layout_proto.hpp"

namespace caffe {

template <typename Dtype>
int ChannelNormLayer<Dtype>::ItemParts() const {
  if (!this->layer_param_.has_layout()) return 1;
  return static_cast<int>(Parts(FromProto(this->layer_param_.layout()), 0));
}

/// Of the devices among which the items are divided.
template <typename Dtype>
DeviceSum ChannelNormLayer<Dtype>::SumOfItems() const {
  if (!this->layer_param_.has_layout()) return {};
  std::vector<layrub::Level> levels;
  for (const layrub::Level& level : FromProto(this->layer_param_.layout()).levels)
    levels.push_back(level == layrub::Cut(0) ? layrub::Part() : layrub::Whole());
  return DeviceSum(levels);
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::AverageOverDevices(const DeviceContext& context, int64_t values,
                                                 int count, Dtype* sums, Dtype* workspace) const {
  CHECK(group_) << "Layer " << this->layer_param_.name()
                << ": a net that is divided among devices runs on these only.";
  SumOfItems().Run(context, group_, count, sums, workspace);
  if (values > 1)
    kernels::Scaled<Dtype>(context, count, Dtype(1) / static_cast<Dtype>(values), sums, sums);
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::ForwardDivided(const DeviceContext& context,
                                             const ChannelShape& shape, const Dtype* x, Dtype* y,
                                             Dtype* mean, Dtype* inverse, Dtype* normalized,
                                             Dtype* workspace) {
  ChannelShape all = shape;
  all.outer *= ItemParts();
  kernels::ChannelSums(context, shape, x, mean);
  AverageOverDevices(context, all.PerChannel(), channels_, mean, workspace);
  kernels::ChannelSquares<Dtype>(context, shape, x, mean, inverse);
  AverageOverDevices(context, 1, channels_, inverse, workspace);
  kernels::RunningStatistics<Dtype> running;
  if (!this->recomputing()) running = Running(context, all);
  kernels::FinishStatistics<Dtype>(context, channels_, static_cast<Dtype>(all.PerChannel()), eps_,
                                   running, mean, inverse);
  kernels::Normalize<Dtype>(context, shape, x, mean, inverse, After(context, true, true), y,
                            normalized);
}

template <typename Dtype>
void ChannelNormLayer<Dtype>::BackwardDivided(
    const DeviceContext& context, const ChannelShape& shape,
    const kernels::NormalizedSource<Dtype>& source, const kernels::AfterNormalizing<Dtype>& after,
    const Dtype* dy, const kernels::NormalizeGradients<Dtype>& gradients, Dtype* workspace) {
  kernels::NormalizeBackwardSums(context, shape, source, after, dy, gradients, workspace);
  AverageOverDevices(context, shape.PerChannel() * ItemParts(), 2 * channels_, workspace,
                     workspace + 2 * channels_);
  kernels::NormalizeBackwardFromMeans<Dtype>(context, shape, source, after, dy, workspace,
                                             gradients.dx);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_NORM_CHANNEL_NORM_DIVIDED_HPP_
