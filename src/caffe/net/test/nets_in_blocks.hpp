#ifndef CAFFE_NET_TEST_NETS_IN_BLOCKS_HPP_
#define CAFFE_NET_TEST_NETS_IN_BLOCKS_HPP_

// Small nets in which values have their channels in blocks, if the processor's convolutions prefer
// that.

#include <memory>
#include <string>

#include "caffe/kernels/conv/conv_onednn.hpp"
#include "caffe/net/test/training.hpp"

namespace caffe {

/// Whether oneDNN prefers channels in blocks on this processor, for a 3 x 3 convolution of 64
/// channels of 9 x 7 in all passes. Always false on a GPU.
inline bool HasBlocks() {
  if (Caffe::mode() == Caffe::GPU) return false;
  kernels::Convolution conv;
  conv.images = 3;
  conv.channels = conv.num_output = conv.window.channels = 64;
  conv.window.axes = 2;
  for (int i = 0; i < 2; ++i) {
    conv.window.image[i] = conv.window.output[i] = i == 0 ? 9 : 7;
    conv.window.kernel[i] = 3;
    conv.window.pad[i] = conv.window.stride[i] = conv.window.dilation[i] = 1;
  }
  using Pass = kernels::ConvolutionPass;
  const auto liked = [&](Pass pass) { return kernels::OneDnnPreferredBlock(conv, pass); };
  return liked(Pass::kForward) > 0 && liked(Pass::kForward) == liked(Pass::kBackwardData) &&
         liked(Pass::kForward) == liked(Pass::kBackwardWeights);
}

inline string Convolution(const string& top, const string& bottom, int outputs = 64) {
  return R"(layer { name: ")" + top + R"(" type: "Convolution" bottom: ")" + bottom +
         R"(" top: ")" + top + R"(" convolution_param { num_output: )" + std::to_string(outputs) +
         R"( kernel_size: 3 pad: 1 weight_filler { type: "msra" }
             bias_filler { type: "gaussian" std: 0.1 } } })";
}

inline string Layer1(const string& type, const string& bottom, const string& top,
                     const string& more = "") {
  return R"(layer { name: ")" + top + "_" + type + R"(" type: ")" + type + R"(" bottom: ")" +
         bottom + R"(" top: ")" + top + R"(" )" + more + " }";
}

inline string Data(int channels = 64) {
  return R"(layer { name: "in" type: "DummyData" top: "x" dummy_data_param {
              shape { dim: 3 dim: )" +
         std::to_string(channels) + R"( dim: 9 dim: 7 }
              data_filler { type: "gaussian" std: 1 } refill: false } })";
}

inline string LossOf(const string& bottom) {
  return R"(layer { name: "loss" type: "Power" bottom: ")" + bottom + R"(" top: "loss"
            loss_weight: 0.001 power_param { power: 2 shift: -1 } })";
}

/// Two convolutions, `a` and `d`, with `layers` between them that compute "c" from "a".
inline string Between(const string& layers) {
  return Data() + Convolution("a", "x") + layers + Convolution("d", "c") + LossOf("d");
}

/// A net under `keep`, with values in blocks where possible if `blocks`, else without any.
inline std::unique_ptr<Net<float>> Planned(const NetParameter& param, bool blocks,
                                           bool fused = true) {
  Caffe::set_random_seed(5);
  std::unique_ptr<Net<float>> net(new Net<float>(param));
  PlacementOptions options;
  options.strategy = "keep";
  options.optimizations.channel_blocks = blocks;
  options.optimizations.layer_fusion = fused;
  CHECK(net->Place(options).ok());
  return net;
}

}  // namespace caffe

#endif  // CAFFE_NET_TEST_NETS_IN_BLOCKS_HPP_
