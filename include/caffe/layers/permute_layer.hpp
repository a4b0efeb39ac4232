#ifndef CAFFE_PERMUTE_LAYER_HPP_
#define CAFFE_PERMUTE_LAYER_HPP_

#include "caffe/layers/axis_order_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Permutes the axes (SSD, Liu et al. 2016): axis k of the top is axis order[k] of the bottom. Axes
/// that are not listed follow in ascending order. An order that changes nothing shares the bottom's
/// memory. Does not run in place.
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
