#ifndef CAFFE_KERNELS_CONV_HPP_
#define CAFFE_KERNELS_CONV_HPP_

#include <cstdint>

#include "caffe/kernels/im2col.hpp"

namespace caffe {
namespace kernels {

/// A grouped convolution of `images` images: x (images x channels x image) -> y (images x
/// num_output x output), with weights num_output x channels/group x kernel. `window.channels` is
/// channels / group.
struct Convolution {
  int images = 0;
  int channels = 0;
  int num_output = 0;
  int group = 1;
  bool force_nd = false;  ///< use the general column matrix for two spatial axes, too
  SlidingWindow window;

  /// The image is its own column matrix: no workspace is needed.
  bool Pointwise() const;
  /// Values of workspace that each of the functions below needs.
  int64_t WorkspaceCount() const { return Pointwise() ? 0 : window.ColumnCount(); }
  /// Multiplications and additions of one of the functions below.
  double Flops() const;
};

/// y = x * weights
template <typename Dtype>
void ConvolutionForward(const DeviceContext& context, const Convolution& conv, const Dtype* x,
                        const Dtype* weights, Dtype* y, Dtype* workspace);
/// dx = the adjoint of ConvolutionForward with regard to x, applied to dy
template <typename Dtype>
void ConvolutionBackwardData(const DeviceContext& context, const Convolution& conv, const Dtype* dy,
                             const Dtype* weights, Dtype* dx, Dtype* workspace);
/// dweights += the adjoint with regard to the weights
template <typename Dtype>
void ConvolutionBackwardWeights(const DeviceContext& context, const Convolution& conv,
                                const Dtype* x, const Dtype* dy, Dtype* dweights, Dtype* workspace);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CONV_HPP_
