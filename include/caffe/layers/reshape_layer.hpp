#ifndef CAFFE_RESHAPE_LAYER_HPP_
#define CAFFE_RESHAPE_LAYER_HPP_

#include <vector>

#include "caffe/layers/view_layer.hpp"

namespace caffe {

/// Replaces `num_axes` of the bottom's axes from `axis` on (-1: all) by those of
/// reshape_param.shape. A 0 copies the bottom's dimension at that place; one -1 is inferred from
/// the rest. A negative `axis` counts from the end: -1 appends. The top is a view of the bottom.
template <typename Dtype>
class ReshapeLayer : public ViewLayer<Dtype> {
 public:
  explicit ReshapeLayer(const LayerParameter& param) : ViewLayer<Dtype>(param) {}
  const char* type() const override { return "Reshape"; }

 protected:
  vector<int> ViewShape(const Blob<Dtype>& bottom) const override;
};

}  // namespace caffe

#endif  // CAFFE_RESHAPE_LAYER_HPP_
