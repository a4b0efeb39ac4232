#ifndef CAFFE_LAYERS_CONV_CONV_RULE_HPP_
#define CAFFE_LAYERS_CONV_CONV_RULE_HPP_

#include "caffe/layer_axes.hpp"

namespace caffe {

/// The axes of a convolution, in either direction: items; output channels, which also divide the
/// weights and the bias; input channels, over which the output is a sum. If there are several
/// groups, these replace both kinds of channels. Rows and columns are not divided, since each part
/// would need some rows of its neighbours.
LayerRule ConvolutionRule(const LayerShapes& shapes);

}  // namespace caffe

#endif  // CAFFE_LAYERS_CONV_CONV_RULE_HPP_
