#include "caffe/kernels/conv/conv_dims.hpp"

#include <climits>

namespace caffe {
namespace kernels {
namespace {

bool Countable(const std::array<int, 5>& sizes, int axes) {
  int64_t count = 1;
  for (int i = 0; i < 2 + axes; ++i) {
    if (sizes[i] <= 0 || count > INT_MAX / sizes[i]) return false;
    count *= sizes[i];
  }
  return true;
}

template <size_t kSize>
std::string Text(const std::array<int, kSize>& sizes, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i ? "x" : "") + std::to_string(sizes[i]);
  return text;
}

const char* NameOf(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::kForward:
      return "forward";
    case ConvolutionPass::kBackwardData:
      return "backward_data";
    case ConvolutionPass::kBackwardWeights:
      return "backward_weights";
  }
  return "";
}

}  // namespace

bool DimsOf(const Convolution& conv, ConvolutionDims* dims) {
  const SlidingWindow& window = conv.window;
  if (window.axes < 1 || window.axes > 3) return false;
  *dims = {};
  dims->axes = window.axes == 1 ? 2 : window.axes;
  dims->group = conv.group;
  dims->x[0] = dims->y[0] = conv.images;
  dims->x[1] = conv.channels;
  dims->y[1] = dims->w[0] = conv.num_output;
  dims->w[1] = window.channels;
  const int added = dims->axes - window.axes;
  for (int i = 0; i < dims->axes; ++i) {
    const int from = i - added;
    const bool own = from >= 0;
    dims->x[2 + i] = own ? window.image[from] : 1;
    dims->y[2 + i] = own ? window.output[from] : 1;
    dims->w[2 + i] = own ? window.kernel[from] : 1;
    dims->pad[i] = own ? window.pad[from] : 0;
    dims->stride[i] = own ? window.stride[from] : 1;
    dims->dilation[i] = own ? window.dilation[from] : 1;
  }
  return Countable(dims->x, dims->axes) && Countable(dims->y, dims->axes) &&
         Countable(dims->w, dims->axes);
}

std::string NameOf(const ConvolutionDims& dims, ConvolutionPass pass, const char* type) {
  const int sizes = 2 + dims.axes;
  return std::string(NameOf(pass)) + " " + type + " " + Text(dims.x, sizes) + " " +
         Text(dims.w, sizes) + " pad " + Text(dims.pad, dims.axes) + " stride " +
         Text(dims.stride, dims.axes) + " dilation " + Text(dims.dilation, dims.axes) + " group " +
         std::to_string(dims.group);
}

}  // namespace kernels
}  // namespace caffe
