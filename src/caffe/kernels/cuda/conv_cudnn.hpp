#ifndef CAFFE_KERNELS_CUDA_CONV_CUDNN_HPP_
#define CAFFE_KERNELS_CUDA_CONV_CUDNN_HPP_

#include <vector>

#include "caffe/kernels/conv/conv.hpp"

namespace caffe {
namespace kernels {

/// The cuDNN algorithms of an operation that runs `passes`. If all passes have been measured on
/// this GPU (they are measured now if library_settings().measure is set), returns all useful
/// combinations (Combine); otherwise the one that WithoutTimes chooses. Empty if cuDNN cannot run a
/// pass or if `context` launches no kernels. The bytes are those that cuDNN asks for.
template <typename Dtype>
std::vector<Algorithm> CudnnChoices(const DeviceContext& context, const Convolution& conv,
                                    const std::vector<ConvolutionPass>& passes);

/// Queues `pass` with chosen.algorithm, which CudnnChoices named. Operands are in the order of the
/// functions in conv.hpp. Only the first convolution of these sizes in a thread allocates memory.
template <typename Dtype>
void CudnnRun(const DeviceContext& context, const Convolution& conv, ConvolutionPass pass,
              const AlgorithmRun& chosen, const Dtype* a, const Dtype* b,
              const Accumulator<Dtype>& out);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CUDA_CONV_CUDNN_HPP_
