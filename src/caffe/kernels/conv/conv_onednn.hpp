#ifndef CAFFE_KERNELS_CONV_CONV_ONEDNN_HPP_
#define CAFFE_KERNELS_CONV_CONV_ONEDNN_HPP_

#include <cstdint>
#include <optional>
#include <string_view>

#include "caffe/kernels/conv/conv.hpp"

namespace caffe {
namespace kernels {

inline constexpr std::string_view kOneDnn = "onednn";

/// Bytes of workspace with which oneDNN runs `pass` of `conv` on this processor, in float. None
/// where a kernel of ours does it: oneDNN has none that is made for this processor, ours is as fast
/// in less memory (pointwise convolutions), or libcaffe_onednn.so is not beside libcaffe. The same
/// each time.
std::optional<int64_t> OneDnnBytes(const Convolution& conv, ConvolutionPass pass);

/// Channels in the blocks (Blob::channel_block) in which oneDNN wants x and y for `pass` of `conv`,
/// where they have a multiple of 16: 8 or 16. 0: it does not compute the pass, or wants them
/// otherwise.
int OneDnnLikedBlock(const Convolution& conv, ConvolutionPass pass);

/// Runs `pass` in `workspace`, of OneDnnBytes, which must not be none, on BlasThreads() threads;
/// many of them may take memory of the process besides, for sums of gradients of weights. Operands
/// in the order of the functions in conv.hpp. The same bits each time, for the same number of
/// threads. Any thread may call it.
void OneDnnRun(const Convolution& conv, ConvolutionPass pass, void* workspace, const float* a,
               const float* b, const Accumulator<float>& out);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CONV_CONV_ONEDNN_HPP_
