#ifndef CAFFE_MVN_LAYER_HPP_
#define CAFFE_MVN_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

struct ChannelShape;

/// Mean-variance normalisation of each channel of each item or, with across_channels, of each item
/// (axis 0): y = x - mean and, with normalize_variance, that divided by (standard deviation + eps).
/// The gradient assumes that eps is small compared with the deviation. May run in place.
///
/// Backward variants: "y" (the top holds the normalised values), "x" (recomputes them), "x_norm" (a
/// saved copy). Without normalize_variance the only one is "constant", which reads none of them.
template <typename Dtype>
class MVNLayer : public Layer<Dtype> {
 public:
  explicit MVNLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "MVN"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  Dtype eps_ = 0;

 private:
  /// The bottom as channels, one for each group of values that are normalised together.
  ChannelShape Rows(const Blob<Dtype>& bottom) const;
};

}  // namespace caffe

#endif  // CAFFE_MVN_LAYER_HPP_
