#ifndef CAFFE_MVN_LAYER_HPP_
#define CAFFE_MVN_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

struct ChannelShape;

/// Mean-variance normalisation of each channel of each item or, with across_channels, of each item
/// (axis 0): y = x - mean and, with normalize_variance, that divided by the standard deviation +
/// eps. The gradient takes eps to be small beside the deviation. May run in place.
///
/// Backward forms: "y" (the top holds the normalised values), "x" (they are computed again),
/// "x_norm" (a saved copy); without normalize_variance "constant", of which none is read.
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
  /// Every row of values that are normalised together as a channel of its own.
  ChannelShape Rows(const Blob<Dtype>& bottom) const;
};

}  // namespace caffe

#endif  // CAFFE_MVN_LAYER_HPP_
