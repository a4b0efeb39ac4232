#ifndef CAFFE_FLATTEN_LAYER_HPP_
#define CAFFE_FLATTEN_LAYER_HPP_

#include <vector>

#include "caffe/layers/view_layer.hpp"

namespace caffe {

/// Joins the bottom's axes from flatten_param.axis to end_axis into one. The top is a view of the
/// bottom.
template <typename Dtype>
class FlattenLayer : public ViewLayer<Dtype> {
 public:
  explicit FlattenLayer(const LayerParameter& param) : ViewLayer<Dtype>(param) {}
  const char* type() const override { return "Flatten"; }

 protected:
  vector<int> ViewShape(const Blob<Dtype>& bottom) const override;
};

}  // namespace caffe

#endif  // CAFFE_FLATTEN_LAYER_HPP_
