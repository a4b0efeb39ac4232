#ifndef CAFFE_KERNELS_CONV_DEPTHWISE_HPP_
#define CAFFE_KERNELS_CONV_DEPTHWISE_HPP_

#include "caffe/kernels/conv/conv.hpp"

namespace caffe {
namespace kernels {

// Convolutions in which each channel is a group (a matrix product would have a single row). One
// thread, or one team, sums each output in a fixed order, so results are reproducible. They need no
// workspace.

inline constexpr std::string_view kDepthwise = "depthwise";

/// Two spatial axes and one input channel in each group.
bool IsDepthwise(const Convolution& conv);

// Like the functions of the same names in conv.hpp.
template <typename Dtype>
void DepthwiseForward(const DeviceContext& context, const Convolution& conv, const Dtype* x,
                      const Dtype* weights, Dtype* y);
template <typename Dtype>
void DepthwiseBackwardData(const DeviceContext& context, const Convolution& conv, const Dtype* dy,
                           const Dtype* weights, Dtype* dx);
template <typename Dtype>
void DepthwiseBackwardWeights(const DeviceContext& context, const Convolution& conv, const Dtype* x,
                              const Dtype* dy, const Accumulator<Dtype>& dweights);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CONV_DEPTHWISE_HPP_
