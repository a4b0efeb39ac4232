#ifndef CAFFE_PERMUTE_LAYER_HPP_
#define CAFFE_PERMUTE_LAYER_HPP_

#include "caffe/layers/axis_order_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Another order of the axes (SSD, Liu et al. 2016): axis k of the top is axis order[k] of the
/// bottom; axes that are not named follow in their order. An order that changes nothing shares the
/// bottom's memory. Not in place.
template <typename Dtype>
class PermuteLayer : public AxisOrderLayer<Dtype> {
 public:
  explicit PermuteLayer(const LayerParameter& param) : AxisOrderLayer<Dtype>(param) {}
  const char* type() const override { return "Permute"; }

 protected:
  using AxisOrder = typename AxisOrderLayer<Dtype>::AxisOrder;
  AxisOrder OrderOf(const Blob<Dtype>& bottom) const override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_PERMUTE_LAYER_HPP_
