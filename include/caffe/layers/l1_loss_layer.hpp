#ifndef CAFFE_L1_LOSS_LAYER_HPP_
#define CAFFE_L1_LOSS_LAYER_HPP_

#include "caffe/layers/absolute_loss_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// The sum of absolute differences of the bottoms, per sample: the sum of |a - b|, divided by N.
/// Both bottoms may take a gradient; it is 0 where they are equal.
template <typename Dtype>
class L1LossLayer : public AbsoluteLossLayer<Dtype> {
 public:
  explicit L1LossLayer(const LayerParameter& param) : AbsoluteLossLayer<Dtype>(param) {}
  const char* type() const override { return "L1Loss"; }

 protected:
  Dtype QuadraticRange() const override { return 0; }
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_L1_LOSS_LAYER_HPP_
