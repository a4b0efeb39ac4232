#ifndef CAFFE_SMOOTH_L1_LOSS_LAYER_HPP_
#define CAFFE_SMOOTH_L1_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/absolute_loss_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// The loss of box regression (Girshick 2015, Fast R-CNN), per sample: the sum of w_out * f(w_in *
/// (a - b)), divided by N. f(d) is (sigma d)^2 / 2 where |d| < 1 / sigma^2, and |d| - 1 / (2
/// sigma^2) elsewhere. Bottoms: a, b and optionally the weights w_in and w_out. a and b may take
/// gradients.
template <typename Dtype>
class SmoothL1LossLayer : public AbsoluteLossLayer<Dtype> {
 public:
  explicit SmoothL1LossLayer(const LayerParameter& param) : AbsoluteLossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SmoothL1Loss"; }
  int ExactNumBottomBlobs() const override { return -1; }
  int MinBottomBlobs() const override { return 2; }
  int MaxBottomBlobs() const override { return 4; }

 protected:
  Dtype QuadraticRange() const override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_SMOOTH_L1_LOSS_LAYER_HPP_
