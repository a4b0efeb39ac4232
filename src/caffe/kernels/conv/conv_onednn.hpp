#ifndef CAFFE_KERNELS_CONV_CONV_ONEDNN_HPP_
#define CAFFE_KERNELS_CONV_CONV_ONEDNN_HPP_

#include <cstdint>
#include <optional>
#include <string_view>

#include "caffe/kernels/conv/conv.hpp"

namespace caffe {
namespace kernels {

inline constexpr std::string_view kOneDnn = "onednn";

/// Bytes of workspace with which oneDNN runs `pass` of `conv` on this processor, in float. Returns
/// nothing if our kernel should run it: because oneDNN has no kernel optimized for this processor,
/// because ours is as fast in less memory (pointwise convolutions), or because libcaffe_onednn.so
/// is not next to libcaffe. Always returns the same result.
std::optional<int64_t> OneDnnBytes(const Convolution& conv, ConvolutionPass pass);

/// The block size (Blob::channel_block), 8 or 16, in which oneDNN wants x and y for `pass` of
/// `conv` if their channels are a multiple of 16. Returns 0 if oneDNN does not run the pass or
/// wants another layout.
int OneDnnPreferredBlock(const Convolution& conv, ConvolutionPass pass);

/// The number of images that oneDNN computes at a time. It sums gradients of weights over them in
/// an order of its own.
int OneDnnImages(const Convolution& conv);

/// Runs `pass` on BlasThreads() threads. OneDnnBytes must not have returned nothing; `workspace`
/// has that many bytes. With many threads it may allocate extra memory to sum gradients of weights.
/// Operands are in the order of the functions in conv.hpp. Gives the same bits each time for the
/// same number of threads. Any thread may call it.
void OneDnnRun(const Convolution& conv, ConvolutionPass pass, void* workspace, const float* a,
               const float* b, const Accumulator<float>& out);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CONV_CONV_ONEDNN_HPP_
