#ifndef CAFFE_SHUFFLE_CHANNEL_LAYER_HPP_
#define CAFFE_SHUFFLE_CHANNEL_LAYER_HPP_

#include "caffe/layers/axis_order_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Channel i of each of `group` groups, in turn (ShuffleNet, Zhang et al. 2018): of N x C x ...
/// values channel g * (C / group) + i goes to channel i * group + g. `group` divides C; a single
/// group shares the bottom's memory. Not in place.
template <typename Dtype>
class ShuffleChannelLayer : public AxisOrderLayer<Dtype> {
 public:
  explicit ShuffleChannelLayer(const LayerParameter& param) : AxisOrderLayer<Dtype>(param) {}
  const char* type() const override { return "ShuffleChannel"; }

 protected:
  using AxisOrder = typename AxisOrderLayer<Dtype>::AxisOrder;
  AxisOrder OrderOf(const Blob<Dtype>& bottom) const override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_SHUFFLE_CHANNEL_LAYER_HPP_
