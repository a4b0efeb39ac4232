#ifndef CAFFE_LAYERS_NORM_CHANNEL_NORM_RULE_HPP_
#define CAFFE_LAYERS_NORM_CHANNEL_NORM_RULE_HPP_

#include "caffe/layer_axes.hpp"

namespace caffe {

/// The axes of a ChannelNormLayer: channels and items. Channels also divide all parameters but
/// `count`, one number for all channels (-1: none). Statistics are summed over the items.
inline LayerRule ChannelNormRule(const LayerShapes& shapes, int count) {
  LayerRule rule = Axes({ItemAxis(shapes)});
  rule.tells_layout = true;
  if (shapes.bottom[0].size() < 2) return rule;
  LayerAxis channel = AxisOf("channel", shapes, 1);
  for (size_t i = 0; i < shapes.params.size(); ++i) {
    const vector<int64_t>& dims = shapes.params[i];
    for (size_t d = 0; static_cast<int>(i) != count && d < dims.size(); ++d) {
      if (dims[d] == channel.extent && channel.params[i] < 0)
        channel.params[i] = static_cast<int>(d);
    }
  }
  rule.axes.push_back(channel);
  return rule;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_NORM_CHANNEL_NORM_RULE_HPP_
