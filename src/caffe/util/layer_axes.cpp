#include "caffe/layer_axes.hpp"

namespace caffe {
namespace {

std::map<string, LayerRuleOf>& Rules() {
  static auto* const rules = new std::map<string, LayerRuleOf>;
  return *rules;
}

bool Fits(const vector<int64_t>& dims, int dim, int64_t extent) {
  return dim < static_cast<int>(dims.size()) && dims[dim] == extent;
}

}  // namespace

void AddLayerRule(const string& type, LayerRuleOf rule) { Rules()[type] = rule; }

vector<string> TypesWithRules() {
  vector<string> types;
  for (const auto& entry : Rules()) types.push_back(entry.first);
  return types;
}

LayerRule RuleOf(const LayerShapes& shapes) {
  const auto found = Rules().find(shapes.param.type());
  if (found == Rules().end()) return NoAxes("its type says nothing about its axes");
  return found->second(shapes);
}

LayerAxis AxisOf(const string& name, const LayerShapes& shapes, int dim) {
  LayerAxis axis;
  axis.name = name;
  const vector<int64_t>& first = shapes.bottom.empty() ? shapes.top.at(0) : shapes.bottom[0];
  axis.extent = dim < static_cast<int>(first.size()) ? first[dim] : 1;
  bool same = true;
  for (const vector<int64_t>& dims : shapes.bottom) {
    same = same && Fits(dims, dim, axis.extent);
    axis.inputs.push_back(dim);
  }
  for (const vector<int64_t>& dims : shapes.top) {
    same = same && Fits(dims, dim, axis.extent);
    axis.outputs.push_back(dim);
  }
  axis.params.assign(shapes.params.size(), -1);
  if (!same) axis.extent = 1;
  return axis;
}

LayerAxis ItemAxis(const LayerShapes& shapes) { return AxisOf("item", shapes, 0); }

LayerRule EveryDimension(const LayerShapes& shapes) {
  LayerRule rule;
  const size_t dims = shapes.bottom.at(0).size();
  for (size_t d = 0; d < dims; ++d) {
    const string name = d == 0 ? "item" : d == 1 ? "channel" : "dim " + std::to_string(d);
    rule.axes.push_back(AxisOf(name, shapes, static_cast<int>(d)));
  }
  return rule;
}

}  // namespace caffe
