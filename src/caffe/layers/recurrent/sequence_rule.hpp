#ifndef CAFFE_LAYERS_RECURRENT_SEQUENCE_RULE_HPP_
#define CAFFE_LAYERS_RECURRENT_SEQUENCE_RULE_HPP_

#include <functional>
#include <numeric>

#include "caffe/layer_axes.hpp"

namespace caffe {

/// The axes of a RecurrentLayer: the sequences of a batch and the hidden units.
///
/// Sequences are the second dimension of all bottoms and tops, but the first of the static input.
///
/// If the units are divided, each device computes some of them in each step, from the inputs and
/// from the hidden values of all units of the step before. So the devices exchange the hidden
/// values of each step. `gates`: the first dimension of each parameter is so many times the units.
/// `top_is_hidden`: the first top consists of the hidden values, so that all devices have all of
/// it.
inline LayerRule SequenceRule(const LayerShapes& shapes, int gates, bool top_is_hidden) {
  const RecurrentParameter& param = shapes.param.recurrent_param();
  LayerAxis item = AxisOf("item", shapes, 1);
  const size_t states = shapes.top.size() - 1;
  if (shapes.bottom.size() > 2 + states) {
    item.extent = shapes.bottom[0][1];
    item.inputs[2] = 0;
  }
  LayerAxis unit;
  unit.name = "unit";
  unit.extent = param.num_output();
  unit.inputs.assign(shapes.bottom.size() - states, -1);
  unit.inputs.resize(shapes.bottom.size(), 2);
  unit.outputs.assign(shapes.top.size(), 2);
  if (top_is_hidden) unit.outputs[0] = layrub::partition::kGathered;
  unit.params.assign(shapes.params.size(), 0);
  unit.arrays_in_params = gates;
  unit.gathered_bytes = std::accumulate(shapes.top[0].begin(), shapes.top[0].end(),
                                        int64_t{sizeof(float)}, std::multiplies<int64_t>());
  unit.narrow = [](LayerParameter* layer, int parts) {
    RecurrentParameter* const narrow = layer->mutable_recurrent_param();
    narrow->set_num_output(narrow->num_output() / static_cast<uint32_t>(parts));
  };
  LayerRule rule = Axes({item, unit});
  rule.tells_layout = true;
  return rule;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_RECURRENT_SEQUENCE_RULE_HPP_
