#ifndef CAFFE_NET_TEST_BLOCKS_WANTED_HPP_
#define CAFFE_NET_TEST_BLOCKS_WANTED_HPP_

#include "caffe/common.hpp"
#include "caffe/kernels/conv_onednn.hpp"

namespace caffe {

/// Whether oneDNN wants channels in blocks on this processor: for a convolution of 3 x 3 of 64
/// channels of 9 x 7, in all passes. On a GPU nobody does.
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
  const auto liked = [&](Pass pass) { return kernels::OneDnnLikedBlock(conv, pass); };
  return liked(Pass::kForward) > 0 && liked(Pass::kForward) == liked(Pass::kBackwardData) &&
         liked(Pass::kForward) == liked(Pass::kBackwardWeights);
}

}  // namespace caffe

#endif  // CAFFE_NET_TEST_BLOCKS_WANTED_HPP_
