#include "caffe/layers/flatten_layer.hpp"

#include "caffe/layer_axes.hpp"

namespace caffe {

template <typename Dtype>
vector<int> FlattenLayer<Dtype>::ViewShape(const Blob<Dtype>& bottom) const {
  const FlattenParameter& param = this->layer_param_.flatten_param();
  const int begin = bottom.CanonicalAxisIndex(param.axis());
  const int last = bottom.CanonicalAxisIndex(param.end_axis());
  CHECK_LE(begin, last) << "Layer " << this->layer_param_.name() << ": axis " << begin
                        << " comes after end_axis " << last << ".";
  vector<int> shape(bottom.shape().begin(), bottom.shape().begin() + begin);
  shape.push_back(bottom.count(begin, last + 1));
  shape.insert(shape.end(), bottom.shape().begin() + last + 1, bottom.shape().end());
  return shape;
}

/// The dimensions that are not joined, and the first of those that are; the others stay whole.
static LayerRule FlattenRule(const LayerShapes& shapes) {
  const FlattenParameter& param = shapes.param.flatten_param();
  const auto axes = static_cast<int>(shapes.bottom[0].size());
  const int begin = param.axis() < 0 ? param.axis() + axes : param.axis();
  LayerRule rule;
  for (int d = 0; d <= begin && d < axes; ++d) {
    LayerAxis axis;
    axis.name = d == 0 ? "item" : d == 1 ? "channel" : "dim " + std::to_string(d);
    axis.extent = shapes.bottom[0][d];
    axis.inputs = axis.outputs = {d};
    rule.axes.push_back(axis);
  }
  return rule;
}

INSTANTIATE_CLASS(FlattenLayer);
REGISTER_LAYER_CLASS(Flatten);
REGISTER_LAYER_AXES(Flatten, FlattenRule);

}  // namespace caffe
