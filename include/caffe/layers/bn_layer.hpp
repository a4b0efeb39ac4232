#ifndef CAFFE_BN_LAYER_HPP_
#define CAFFE_BN_LAYER_HPP_

#include <vector>

#include "caffe/layers/channel_norm_layer.hpp"
#include "caffe/layers/scale_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// y = slope * (x - mean) / sqrt(variance + eps) + bias for each channel (axis 1): BatchNorm and
/// Scale in one (PSPNet, Zhao et al. 2017; SegNet, Badrinarayanan et al. 2017). In training, mean
/// and variance are those of the batch, and running averages are kept: running = momentum * running
/// + (1 - momentum) * batch. With `frozen`, and outside training, the running averages are used, as
/// constants in the gradients. `var_eps` is another name of `eps`, `scale_filler` of `slope_filler`
/// (default 1), `shift_filler` of `bias_filler` (default 0). May run in place.
///
/// blobs_, each 1 x C x 1 x 1: slope, bias, running mean (initially 0), running variance (initially
/// 1). The last two are not learned, whatever lr_mult says.
///
/// With bn_mode INFERENCE (SegNet with the statistics folded into the weights), y = slope * x +
/// bias, and blobs_ are slope and bias alone.
///
/// Backward variants: "x" (recomputes the normalised values), "x_norm" (a saved copy of them). If
/// the statistics are constants and neither is needed, the only variant is "constant".
template <typename Dtype>
class BNLayer : public ChannelNormLayer<Dtype> {
 public:
  explicit BNLayer(const LayerParameter& param) : ChannelNormLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "BN"; }

 protected:
  void ReadStatistics(const DeviceContext& context, Dtype* mean, Dtype* variance) const override;
  kernels::RunningStatistics<Dtype> Running(const DeviceContext& context,
                                            const ChannelShape& shape) override;
  shared_ptr<ChannelNormLayer<Dtype>> CloneWithSharedParams() const override;

  Dtype momentum_ = 0;
};

/// The BN layer of bn_mode INFERENCE.
template <typename Dtype>
class FoldedBNLayer : public ScaleLayer<Dtype> {
 public:
  explicit FoldedBNLayer(const LayerParameter& param) : ScaleLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "BN"; }
  int MaxBottomBlobs() const override { return 1; }
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_BN_LAYER_HPP_
