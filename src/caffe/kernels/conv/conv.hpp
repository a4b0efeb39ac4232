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
  bool force_nd = false;     ///< use the general column matrix also for two spatial axes
  bool own_kernels = false;  ///< on a CPU, use matrix products instead of oneDNN
  int x_block = 1;           ///< block size of the channels of x and dx (Blob::channel_block)
  int y_block = 1;           ///< the same for y and dy; BlocksOf says what is allowed
  SlidingWindow window;

  /// The image is its own column matrix: no workspace is needed.
  bool Pointwise() const;
  /// Multiplications and additions of one pass.
  double Flops() const;
};

/// The computations of a convolution layer.
enum class ConvolutionPass : uint8_t { kForward, kBackwardData, kBackwardWeights };

/// The algorithms of an operation that runs `passes` in order. If the device has a library (cuDNN),
/// each pass has several algorithms and their combinations are returned: see Combine in
/// algorithm_table.hpp. Without cuDNN there is one algorithm per pass: on a CPU oneDNN
/// (conv_onednn.hpp) if it can run the pass; else kDepthwise, without a workspace, if each channel
/// is a group; else a matrix product with a column matrix as its workspace. If all passes use
/// matrix products, the algorithm has no name; returns an empty list if they need no workspace.
template <typename Dtype>
std::vector<Algorithm> ConvolutionAlgorithms(const DeviceContext& context, const Convolution& conv,
                                             const std::vector<ConvolutionPass>& passes);

/// Returns how many images a slice of the batch must have, or a multiple of that, for the bits of
/// the whole batch: MemoryTraits::exact_items of a layer that runs `passes`.
template <typename Dtype>
int ItemsOfExactSlices(const DeviceContext& context, const Convolution& conv,
                       const std::vector<ConvolutionPass>& passes);

/// Which blocked layouts (Blob::channel_block) some passes accept for x and y, independently.
struct ConvolutionBlocks {
  int size = 0;  ///< block size that they want: 8 or 16; 1: any; 0: plain arrays only
  /// How many copies of x, and of y, blocks save: oneDNN's. The copies that matrix products would
  /// make, one image at a time, are subtracted.
  int spared = 0;
};
template <typename Dtype>
ConvolutionBlocks BlocksOf(const DeviceContext& context, const Convolution& conv,
                           const std::vector<ConvolutionPass>& passes);

/// y = x * weights
template <typename Dtype>
void ConvolutionForward(const DeviceContext& context, const Convolution& conv, const Dtype* x,
                        const Dtype* weights, Dtype* y, const AlgorithmRun& chosen);
/// dx = the adjoint of ConvolutionForward with respect to x, applied to dy
template <typename Dtype>
void ConvolutionBackwardData(const DeviceContext& context, const Convolution& conv, const Dtype* dy,
                             const Dtype* weights, Dtype* dx, const AlgorithmRun& chosen);
/// Adds the gradient of the weights to dweights.
template <typename Dtype>
void ConvolutionBackwardWeights(const DeviceContext& context, const Convolution& conv,
                                const Dtype* x, const Dtype* dy, const Accumulator<Dtype>& dweights,
                                const AlgorithmRun& chosen);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CONV_CONV_HPP_
