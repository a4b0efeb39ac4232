#ifndef CAFFE_LAYER_AXES_HPP_
#define CAFFE_LAYER_AXES_HPP_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "layrub/partition/search.hpp"

// How the work of a layer can be divided among devices. See docs/add-a-layer.md for an example, a
// convolution.

namespace caffe {

/// A layer of a whole net: everything that its axes may depend on.
struct LayerShapes {
  LayerParameter param;
  vector<vector<int64_t>> bottom, top, params;  ///< their dimensions
};

/// An axis of a layer, and how the layer changes if the axis is cut.
struct LayerAxis : layrub::partition::Axis {
  /// Changes the layer to compute one of `parts` equal parts. Empty: its parameters do not depend
  /// on this axis.
  std::function<void(LayerParameter* layer, int parts)> narrow = {};
  /// The layer to apply in place to the output if the axis is cut and the output is a sum of parts.
  /// It adds the bias, and takes over the layer's last parameter. Without a type: none.
  LayerParameter on_sum = {};
  /// Along the axis the output is the concatenation of the inputs (Concat).
  bool joins = false;
  /// The number of arrays of this axis' extent that are joined along it in each parameter: 4 for
  /// the gates of an LSTM.
  int arrays_in_params = 1;
};

/// How layers of one type can be divided. Every device computes layers without axes as a whole,
/// which is always correct; `reason` says why there are none.
struct LayerRule {
  vector<LayerAxis> axes = {};
  string reason = {};
  /// The layer must know which part of its first top it computes (LayerParameter::layout).
  bool tells_layout = false;
};

using LayerRuleOf = LayerRule (*)(const LayerShapes& shapes);

/// Returns the rule for a layer, without axes if its type has no rule. Thread safe.
LayerRule RuleOf(const LayerShapes& shapes);
/// All types that have a rule.
vector<string> TypesWithRules();
void AddLayerRule(const string& type, LayerRuleOf rule);

/// Returns an axis for every dimension. For layers whose bottoms and tops all have the same shape,
/// and whose output values depend only on the input values at the same position.
LayerRule EveryDimension(const LayerShapes& shapes);
/// The first dimension of all bottoms and tops, for layers that compute each item independently
/// with all parameters.
LayerAxis ItemAxis(const LayerShapes& shapes);
/// Dimension `dim` of all bottoms and tops. No parameter has this dimension.
LayerAxis AxisOf(const string& name, const LayerShapes& shapes, int dim);
/// A rule with these axes.
inline LayerRule Axes(vector<LayerAxis> axes) {
  LayerRule rule;
  rule.axes = std::move(axes);
  return rule;
}
/// The rule of a layer that every device computes as a whole.
inline LayerRule NoAxes(const string& reason) {
  LayerRule rule;
  rule.reason = reason;
  return rule;
}

struct LayerRuleRegisterer {
  LayerRuleRegisterer(const string& type, LayerRuleOf rule) { AddLayerRule(type, rule); }
};

/// Use next to REGISTER_LAYER_CLASS(type). `rule` is a LayerRuleOf.
#define REGISTER_LAYER_AXES(type, rule) \
  static const LayerRuleRegisterer g_layer_rule_##type(#type, rule)
/// Every device computes layers of this type as a whole, because of `reason`.
#define REGISTER_NO_LAYER_AXES(type, reason) \
  REGISTER_LAYER_AXES(type, [](const LayerShapes&) { return NoAxes(reason); })

}  // namespace caffe

#endif  // CAFFE_LAYER_AXES_HPP_
