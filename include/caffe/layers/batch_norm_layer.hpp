#ifndef CAFFE_BATCHNORM_LAYER_HPP_
#define CAFFE_BATCHNORM_LAYER_HPP_

#include <vector>

#include "caffe/layers/channel_norm_layer.hpp"

namespace caffe {

/// Normalises each channel (axis 1) to mean 0 and variance 1: y = (x - mean) / sqrt(variance +
/// eps). In training the statistics are those of the batch. Their running sums are kept in the
/// parameters: mean, variance, and the factor by which to divide both. With use_global_stats
/// (default: outside training) these are used instead. S. Ioffe and C. Szegedy, Batch
/// Normalization, 2015, section 3.
///
/// With scale_bias, from NVIDIA's fork, y is then multiplied by a learned scale (initially 1 unless
/// a filler is given) and a learned bias (initially 0) is added, as a following Scale layer would
/// do. They are parameters 3 and 4, one value per channel.
///
/// Backward variants: "y" (the top holds the normalised values; not with scale_bias), "x"
/// (recomputes them), "x_norm" (a saved copy).
template <typename Dtype>
class BatchNormLayer : public ChannelNormLayer<Dtype> {
 public:
  explicit BatchNormLayer(const LayerParameter& param) : ChannelNormLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "BatchNorm"; }

 protected:
  void ReadStatistics(const DeviceContext& context, Dtype* mean, Dtype* variance) const override;
  kernels::RunningStatistics<Dtype> Running(const DeviceContext& context,
                                            const ChannelShape& shape) override;
  shared_ptr<ChannelNormLayer<Dtype>> CloneWithSharedParams() const override;

  Dtype moving_average_fraction_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_BATCHNORM_LAYER_HPP_
