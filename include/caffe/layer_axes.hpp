#ifndef CAFFE_LAYER_AXES_HPP_
#define CAFFE_LAYER_AXES_HPP_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "layrub/partition/search.hpp"

// How the work of a layer can be divided among devices. docs/add-a-layer.md shows it for a
// convolution.

namespace caffe {

/// What a layer of a whole net is: all that its axes may depend on.
struct LayerShapes {
  LayerParameter param;
  vector<vector<int64_t>> bottom, top, params;  ///< their dimensions
};

/// An axis of a layer, and what becomes of the layer where it is cut.
struct LayerAxis : layrub::partition::Axis {
  /// Makes the layer one that computes one of `parts` equal parts. Empty: its parameters say
  /// nothing about this axis.
  std::function<void(LayerParameter* layer, int parts)> narrow = {};
  /// What the layer still has to do where the axis is cut and its output is a sum of parts: a layer
  /// that works in place on the sum (it adds the bias), and takes over the last parameter. Without
  /// a type: nothing.
  LayerParameter on_sum = {};
  /// Along the axis the output is the inputs joined (Concat).
  bool joins = false;
};

/// What a type of layers says. Layers without axes are computed as a whole by every device, which
/// is always right; `reason` says why.
struct LayerRule {
  vector<LayerAxis> axes = {};
  string reason = {};
  /// The layer has to know which part it computes (LayerParameter::layout).
  bool tells_layout = false;
};

using LayerRuleOf = LayerRule (*)(const LayerShapes& shapes);

/// The rule for a layer; of a type that has none, one without axes. Thread safe.
LayerRule RuleOf(const LayerShapes& shapes);
/// The types that have a rule.
vector<string> TypesWithRules();
void AddLayerRule(const string& type, LayerRuleOf rule);

/// For layers whose bottoms and tops all have the same shape, each number of a top being made of
/// those at the same place: every dimension.
LayerRule EveryDimension(const LayerShapes& shapes);
/// The first dimension of all bottoms and tops, for layers that compute each item for itself; all
/// parameters serve all items.
LayerAxis ItemAxis(const LayerShapes& shapes);
/// Dimension `dim` of all bottoms and tops; no parameter walks along it.
LayerAxis AxisOf(const string& name, const LayerShapes& shapes, int dim);
/// A rule of one kind or several.
inline LayerRule Axes(vector<LayerAxis> axes) {
  LayerRule rule;
  rule.axes = std::move(axes);
  return rule;
}
/// A layer that every device computes as a whole.
inline LayerRule NoAxes(const string& reason) {
  LayerRule rule;
  rule.reason = reason;
  return rule;
}

struct LayerRuleRegisterer {
  LayerRuleRegisterer(const string& type, LayerRuleOf rule) { AddLayerRule(type, rule); }
};

/// Beside REGISTER_LAYER_CLASS(type): `rule` is a LayerRuleOf.
#define REGISTER_LAYER_AXES(type, rule) \
  static const LayerRuleRegisterer g_layer_rule_##type(#type, rule)
/// Layers of this type are computed as a whole by every device, because of `reason`.
#define REGISTER_NO_LAYER_AXES(type, reason) \
  REGISTER_LAYER_AXES(type, [](const LayerShapes&) { return NoAxes(reason); })

}  // namespace caffe

#endif  // CAFFE_LAYER_AXES_HPP_
