#ifndef CAFFE_KERNELS_CUDA_CONV_CUDNN_HPP_
#define CAFFE_KERNELS_CUDA_CONV_CUDNN_HPP_

#include <vector>

#include "caffe/kernels/conv/conv.hpp"

namespace caffe {
namespace kernels {

/// The choices among cuDNN's algorithms for an operation that runs `passes`: all that are worth it
/// where each pass was measured on this GPU (now, if library_settings() says so), otherwise the one
/// granted without times. Empty where cuDNN cannot run a pass, or `context` launches no kernels.
/// Bytes are what cuDNN asks for.
template <typename Dtype>
std::vector<Workspace> CudnnChoices(const DeviceContext& context, const Convolution& conv,
                                    const std::vector<ConvolutionPass>& passes);

/// Runs `pass` by scratch.algorithm, one that CudnnChoices named for it. Operands in the order of
/// the functions in conv.hpp. Queues; allocates nothing once it has
/// run a convolution of these sizes in this thread.
template <typename Dtype>
void CudnnRun(const DeviceContext& context, const Convolution& conv, ConvolutionPass pass,
              const AlgorithmScratch& scratch, const Dtype* a, const Dtype* b,
              const Accumulator<Dtype>& out);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CUDA_CONV_CUDNN_HPP_
