#ifndef CAFFE_KERNELS_CONV_DEPTHWISE_HPP_
#define CAFFE_KERNELS_CONV_DEPTHWISE_HPP_

#include "caffe/kernels/conv/conv.hpp"

namespace caffe {
namespace kernels {

// Convolutions in which each channel is a group: a product of matrices would have a single row.
// Every output is gathered by one thread, or one team, in a fixed order: reproducible. No
// workspace.

inline constexpr std::string_view kDepthwise = "depthwise";

/// Two spatial axes and one input channel in each group.
bool IsDepthwise(const Convolution& conv);

// As the functions of conv.hpp of like names.
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
