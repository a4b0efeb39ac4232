#include "caffe/layers/permute_layer.hpp"

#include <algorithm>

#include "caffe/layer_axes.hpp"
#include "caffe/layers/fork_type.hpp"

namespace caffe {

template <typename Dtype>
typename PermuteLayer<Dtype>::AxisOrder PermuteLayer<Dtype>::OrderOf(
    const Blob<Dtype>& bottom) const {
  const string& name = this->layer_param_.name();
  const int axes = bottom.num_axes();
  vector<bool> named(axes);
  AxisOrder result;
  result.dims = bottom.shape();
  for (const uint32_t axis : this->layer_param_.permute_param().order()) {
    CHECK_LT(axis, static_cast<uint32_t>(axes))
        << "Layer " << name << ": order names axis " << axis << ", the bottom has shape "
        << bottom.shape_string() << ".";
    CHECK(!named[axis]) << "Layer " << name << ": order names axis " << axis << " twice.";
    named[axis] = true;
    result.order.push_back(static_cast<int>(axis));
  }
  for (int axis = 0; axis < axes; ++axis) {
    if (!named[axis]) result.order.push_back(axis);
  }
  for (const int axis : result.order) result.top.push_back(bottom.shape(axis));
  return result;
}

static LayerRule PermuteRule(const LayerShapes& shapes) {
  const auto axes = static_cast<int>(shapes.bottom[0].size());
  vector<int> order;
  for (const uint32_t axis : shapes.param.permute_param().order())
    order.push_back(static_cast<int>(axis));
  for (int d = 0; d < axes; ++d) {
    if (std::find(order.begin(), order.end(), d) == order.end()) order.push_back(d);
  }
  LayerRule rule;
  for (int d = 0; d < axes; ++d) {
    LayerAxis axis;
    axis.name = order[d] == 0 ? "item" : "dim " + std::to_string(order[d]);
    axis.extent = shapes.top[0][d];
    axis.inputs = {order[d]};
    axis.outputs = {d};
    rule.axes.push_back(axis);
  }
  return rule;
}

INSTANTIATE_CLASS(PermuteLayer);
REGISTER_FORK_LAYER_CLASS(Permute);
REGISTER_LAYER_AXES(Permute, PermuteRule);

}  // namespace caffe
