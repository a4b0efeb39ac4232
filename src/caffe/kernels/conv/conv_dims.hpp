#ifndef CAFFE_KERNELS_CONV_CONV_DIMS_HPP_
#define CAFFE_KERNELS_CONV_CONV_DIMS_HPP_

#include <array>
#include <compare>
#include <string>

#include "caffe/kernels/conv/conv.hpp"

namespace caffe {
namespace kernels {

/// A convolution as libraries describe it: all tensors have two or three spatial axes; one spatial
/// axis becomes two, the first of length 1.
struct ConvolutionDims {
  int axes = 0;   ///< spatial: 2 or 3
  int group = 1;  ///< x has the channels of all groups, w those of one group
  std::array<int, 5> x = {}, y = {}, w = {};                ///< 2 + axes are used
  std::array<int, 3> pad = {}, stride = {}, dilation = {};  ///< `axes` are used
  auto operator<=>(const ConvolutionDims&) const = default;
};

/// Returns false if libraries do not support the convolution: no spatial axes or more than three,
/// an empty tensor, or a tensor of more than INT_MAX values.
bool DimsOf(const Convolution& conv, ConvolutionDims* dims);

/// Everything that the time of `pass` depends on, as readable text:
/// "forward float 32x3x227x227 96x3x11x11 pad 0x0 stride 4x4 dilation 1x1 group 1".
std::string NameOf(const ConvolutionDims& dims, ConvolutionPass pass, const char* type);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CONV_CONV_DIMS_HPP_
