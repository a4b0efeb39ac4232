#ifndef CAFFE_KERNELS_CONV_CONV_HPP_
#define CAFFE_KERNELS_CONV_CONV_HPP_

#include <cstdint>
#include <vector>

#include "caffe/kernels/accumulator.hpp"
#include "caffe/kernels/conv/im2col.hpp"
#include "caffe/kernels/engines.hpp"

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
  bool force_nd = false;     ///< use the general column matrix for two spatial axes, too
  bool own_kernels = false;  ///< on a CPU, no library's kernels but products of matrices
  int x_block = 1;           ///< channels of x and dx that lie side by side (Blob::channel_block)
  int y_block = 1;           ///< likewise of y and dy; both as BlocksOf allows
  SlidingWindow window;

  /// The image is its own column matrix: no workspace is needed.
  bool Pointwise() const;
  /// Multiplications and additions of one pass.
  double Flops() const;
};

/// What can be computed of a convolution.
enum class ConvolutionPass : uint8_t { kForward, kBackwardData, kBackwardWeights };

/// The workspaces for an operation that runs `passes`, one after the other, each with algorithms of
/// its own where the device has a library of them (cuDNN): see Combine in algorithm_table.hpp. On a
/// CPU there is one choice: for each pass oneDNN (conv_onednn.hpp), where that does it; else none
/// where each channel is a group (kDepthwise), else a column matrix for a product of matrices.
/// Where all passes take the latter: one workspace without a name, or none.
template <typename Dtype>
std::vector<Workspace> ConvolutionWorkspaces(const DeviceContext& context, const Convolution& conv,
                                             const std::vector<ConvolutionPass>& passes);

/// How some passes run where x or y, each for itself, lies in blocks of channels.
struct ConvolutionBlocks {
  int size = 0;  ///< of the blocks that they want: 8 or 16; 1: they take both; 0: arrays alone
  /// Copies of the images of x, and as many of y, that they are spared by that: oneDNN's. Less
  /// those that products of matrices make, an image at a time.
  int spared = 0;
};
template <typename Dtype>
ConvolutionBlocks BlocksOf(const DeviceContext& context, const Convolution& conv,
                           const std::vector<ConvolutionPass>& passes);

/// y = x * weights
template <typename Dtype>
void ConvolutionForward(const DeviceContext& context, const Convolution& conv, const Dtype* x,
                        const Dtype* weights, Dtype* y, const AlgorithmScratch& scratch);
/// dx = the adjoint of ConvolutionForward with regard to x, applied to dy
template <typename Dtype>
void ConvolutionBackwardData(const DeviceContext& context, const Convolution& conv, const Dtype* dy,
                             const Dtype* weights, Dtype* dx, const AlgorithmScratch& scratch);
/// Adds the adjoint with regard to the weights to dweights.
template <typename Dtype>
void ConvolutionBackwardWeights(const DeviceContext& context, const Convolution& conv,
                                const Dtype* x, const Dtype* dy, const Accumulator<Dtype>& dweights,
                                const AlgorithmScratch& scratch);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CONV_CONV_HPP_
