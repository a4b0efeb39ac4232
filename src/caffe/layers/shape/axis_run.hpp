#ifndef CAFFE_LAYERS_SHAPE_AXIS_RUN_HPP_
#define CAFFE_LAYERS_SHAPE_AXIS_RUN_HPP_

#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/layer_axes.hpp"

namespace caffe {

// Operands such as a scale or a bias (`what` in messages) whose shape is that of consecutive axes
// of the bottom, starting at `axis`. They are repeated along the others. If a shape does not fit,
// the functions abort and name the layer.

/// The shape of a learned operand of `num_axes` axes; -1: all axes from `axis` on.
template <typename Dtype>
vector<int> AxisRunShape(const string& layer, const string& what, const Blob<Dtype>& bottom,
                         int axis, int num_axes) {
  CHECK_GE(num_axes, -1)
      << "Layer " << layer
      << ": num_axes must be non-negative, or -1 to extend to the end of bottom[0]";
  const int begin = bottom.CanonicalAxisIndex(axis);
  CHECK_LE(num_axes, bottom.num_axes() - begin)
      << "Layer " << layer << ": " << what << " blob's shape extends past bottom[0]'s shape when "
      << "applied starting with bottom[0] axis = " << begin;
  const auto first = bottom.shape().begin() + begin;
  return vector<int>(first, num_axes == -1 ? bottom.shape().end() : first + num_axes);
}

/// The bottom as an outer x count x inner array, with one operand value for each index of `count`.
struct AxisRun {
  int outer, count, inner;
};

/// Whether the operand has one value per channel, so that its only axis is axis 1.
template <typename Dtype>
bool HasOneValuePerChannel(const Blob<Dtype>& bottom, int outer, int count) {
  return bottom.num_axes() >= 2 && outer == bottom.shape(0) && count == bottom.shape(1);
}

template <typename Dtype>
AxisRun FindAxisRun(const string& layer, const string& what, const Blob<Dtype>& bottom,
                    const Blob<Dtype>& operand, int axis) {
  const int axes = operand.num_axes();
  // An operand without axes applies to everything, wherever `axis` points.
  const int begin = axes == 0 ? 0 : bottom.CanonicalAxisIndex(axis);
  CHECK_LE(axes, bottom.num_axes() - begin)
      << "Layer " << layer << ": " << what << " blob's shape extends past bottom[0]'s shape when "
      << "applied starting with bottom[0] axis = " << begin;
  for (int i = 0; i < axes; ++i) {
    CHECK_EQ(bottom.shape(begin + i), operand.shape(i))
        << "Layer " << layer << ": axis " << i << " of the " << what << ", shape "
        << operand.shape_string() << ", must be as long as axis " << begin + i
        << " of bottom 0, shape " << bottom.shape_string() << ".";
  }
  return {bottom.count(0, begin), operand.count(), bottom.count(begin + axes)};
}

/// The rule of a layer with such an operand from `axis` on, as its second bottom or as parameters:
/// every dimension of the first bottom.
inline LayerRule OperandRule(const LayerShapes& shapes, int axis) {
  const auto axes = static_cast<int>(shapes.bottom[0].size());
  const int begin = axis < 0 ? axis + axes : axis;
  const auto place = [&](const vector<int64_t>& operand, int d) {
    const bool inside = d >= begin && d < begin + static_cast<int>(operand.size());
    return inside ? d - begin : -1;
  };
  LayerRule rule;
  for (int d = 0; d < axes; ++d) {
    LayerAxis cut;
    cut.name = d == 0 ? "item" : d == 1 ? "channel" : "dim " + std::to_string(d);
    cut.extent = shapes.bottom[0][d];
    cut.inputs = cut.outputs = {d};
    if (shapes.bottom.size() > 1) cut.inputs.push_back(place(shapes.bottom[1], d));
    for (const vector<int64_t>& param : shapes.params) cut.params.push_back(place(param, d));
    rule.axes.push_back(cut);
  }
  return rule;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_SHAPE_AXIS_RUN_HPP_
