#ifndef CAFFE_LAYERS_RECURRENT_SEQUENCE_RULE_HPP_
#define CAFFE_LAYERS_RECURRENT_SEQUENCE_RULE_HPP_

#include "caffe/layer_axes.hpp"

namespace caffe {

/// The axis of a RecurrentLayer: the sequences of a batch. It is the second dimension of all
/// bottoms and tops, but the first of the static input.
inline LayerRule SequenceRule(const LayerShapes& shapes) {
  LayerAxis item = AxisOf("item", shapes, 1);
  const bool exposes = shapes.param.recurrent_param().expose_hidden();
  const size_t states = !exposes ? 0 : shapes.param.type() == "LSTM" ? 2 : 1;
  if (shapes.bottom.size() > 2 + states) {
    item.extent = shapes.bottom[0][1];
    item.inputs[2] = 0;
  }
  return Axes({item});
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_RECURRENT_SEQUENCE_RULE_HPP_
