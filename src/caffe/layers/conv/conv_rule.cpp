#include "conv_rule.hpp"

#include <algorithm>
#include <utility>

namespace caffe {
namespace {

ConvolutionParameter* Narrow(LayerParameter* layer, int parts) {
  ConvolutionParameter* const param = layer->mutable_convolution_param();
  param->set_num_output(param->num_output() / static_cast<uint32_t>(parts));
  return param;
}

LayerAxis ChannelAxis(const string& name, const LayerShapes& shapes, int64_t extent, int input,
                      int output, vector<int> params) {
  LayerAxis axis;
  axis.name = name;
  axis.extent = extent;
  axis.inputs.assign(shapes.bottom.size(), input);
  axis.outputs.assign(shapes.top.size(), output);
  params.resize(shapes.params.size(), -1);
  axis.params = std::move(params);
  return axis;
}

}  // namespace

LayerRule ConvolutionRule(const LayerShapes& shapes) {
  const ConvolutionParameter& param = shapes.param.convolution_param();
  const auto axes = static_cast<int>(shapes.bottom[0].size());
  const int channel = param.axis() < 0 ? param.axis() + axes : param.axis();
  const int64_t bottoms = shapes.bottom[0][channel], tops = param.num_output();
  // A deconvolution has the weights of the convolution whose input it computes.
  const bool reversed = shapes.param.type() == "Deconvolution";
  const int of_top = reversed ? 1 : 0, of_bottom = reversed ? 0 : 1;
  const int64_t groups = shapes.params[0][of_bottom] == bottoms && shapes.params[0][of_top] == tops
                             ? 1
                             : std::max<int64_t>(param.group(), 1);
  LayerRule rule;
  if (channel > 0) rule.axes.push_back(ItemAxis(shapes));
  if (groups > 1 || param.group() > 1 || shapes.params[0][1] != (reversed ? tops : bottoms)) {
    const int64_t extent = param.has_group() ? param.group() : bottoms;  // of each channel
    LayerAxis group = ChannelAxis("group", shapes, extent, channel, channel, {0, 0});
    group.narrow = [](LayerParameter* layer, int parts) {
      ConvolutionParameter* const narrow = Narrow(layer, parts);
      if (narrow->has_group()) narrow->set_group(narrow->group() / static_cast<uint32_t>(parts));
    };
    rule.axes.push_back(group);
    return rule;
  }
  LayerAxis out = ChannelAxis("out", shapes, tops, -1, channel, {of_top, 0});
  out.narrow = [](LayerParameter* layer, int parts) { Narrow(layer, parts); };
  rule.axes.push_back(out);
  LayerAxis in = ChannelAxis("in", shapes, bottoms, channel, -1, {of_bottom, -1});
  if (param.bias_term()) {
    in.narrow = [](LayerParameter* layer, int) {
      layer->mutable_convolution_param()->set_bias_term(false);
    };
    in.on_sum.set_type("Bias");
    in.on_sum.mutable_bias_param()->set_axis(channel);
    *in.on_sum.mutable_bias_param()->mutable_filler() = param.bias_filler();
  }
  // Several bottoms share the weights, and the sum of each would need its own layer.
  if (shapes.bottom.size() == 1) rule.axes.push_back(in);
  return rule;
}

}  // namespace caffe
