#ifndef CAFFE_LAYERS_CONV_CONV_RULE_HPP_
#define CAFFE_LAYERS_CONV_CONV_RULE_HPP_

#include "caffe/layer_axes.hpp"

namespace caffe {

/// The axes of a convolution, in either direction: items; output channels, which walk along the
/// weights and the bias; input channels, over which the output is a sum; and, where there are
/// several, the groups, instead of both. Rows and columns are not cut: each would need some of its
/// neighbour's.
LayerRule ConvolutionRule(const LayerShapes& shapes);

}  // namespace caffe

#endif  // CAFFE_LAYERS_CONV_CONV_RULE_HPP_
