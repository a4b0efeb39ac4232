// BaseConvolutionLayer: the functions for one image that subclasses written for Caffe call.
#include "caffe/kernels/math/bias.hpp"
#include "caffe/kernels/on_device.hpp"
#include "caffe/layers/base_conv_layer.hpp"
#include "conv_workspace.hpp"

namespace caffe {
namespace {

using Pass = kernels::ConvolutionPass;

template <typename Dtype>
void Forward(const DeviceContext& context, const kernels::Convolution& conv, const Dtype* x,
             const Dtype* weights, Dtype* y) {
  const ConvWorkspace<Dtype> workspace(context, conv, Pass::kForward);
  kernels::ConvolutionForward(context, conv, x, weights, y, workspace.chosen());
}

template <typename Dtype>
void BackwardData(const DeviceContext& context, const kernels::Convolution& conv, const Dtype* dy,
                  const Dtype* weights, Dtype* dx) {
  const ConvWorkspace<Dtype> workspace(context, conv, Pass::kBackwardData);
  kernels::ConvolutionBackwardData(context, conv, dy, weights, dx, workspace.chosen());
}

template <typename Dtype>
void BackwardWeights(const DeviceContext& context, const kernels::Convolution& conv, const Dtype* x,
                     const Dtype* dy, Dtype* dweights) {
  const ConvWorkspace<Dtype> workspace(context, conv, Pass::kBackwardWeights);
  kernels::ConvolutionBackwardWeights(context, conv, x, dy, kernels::Accumulator<Dtype>{dweights},
                                      workspace.chosen());
}

}  // namespace

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_cpu_gemm(const Dtype* input, const Dtype* weights,
                                                   Dtype* output, bool /*skip_im2col*/) {
  Forward(DeviceContext(), Problem(1), input, weights, output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_cpu_bias(Dtype* output, const Dtype* bias) {
  kernels::BiasForward(DeviceContext(), {1, num_output_, out_spatial_dim_}, output, bias, output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_cpu_gemm(const Dtype* output, const Dtype* weights,
                                                    Dtype* input) {
  BackwardData(DeviceContext(), Problem(1), output, weights, input);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::weight_cpu_gemm(const Dtype* input, const Dtype* output,
                                                  Dtype* weights) {
  BackwardWeights(DeviceContext(), Problem(1), input, output, weights);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_cpu_bias(Dtype* bias, const Dtype* input) {
  kernels::BiasGradient(DeviceContext(), {1, num_output_, out_spatial_dim_}, input,
                        kernels::Accumulator<Dtype>{bias});
}

#ifndef CPU_ONLY
template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_gpu_gemm(const Dtype* col_input, const Dtype* weights,
                                                   Dtype* output, bool /*skip_im2col*/) {
  Forward(kernels::OnDevice(), Problem(1), col_input, weights, output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_gpu_bias(Dtype* output, const Dtype* bias) {
  kernels::BiasForward(kernels::OnDevice(), {1, num_output_, out_spatial_dim_}, output, bias,
                       output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_gpu_gemm(const Dtype* input, const Dtype* weights,
                                                    Dtype* col_output) {
  BackwardData(kernels::OnDevice(), Problem(1), input, weights, col_output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::weight_gpu_gemm(const Dtype* col_input, const Dtype* output,
                                                  Dtype* weights) {
  BackwardWeights(kernels::OnDevice(), Problem(1), col_input, output, weights);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_gpu_bias(Dtype* bias, const Dtype* input) {
  kernels::BiasGradient(kernels::OnDevice(), {1, num_output_, out_spatial_dim_}, input,
                        kernels::Accumulator<Dtype>{bias});
}
#endif

#define INSTANTIATE_IMAGE(Dtype)                                                                  \
  template void BaseConvolutionLayer<Dtype>::forward_cpu_gemm(const Dtype*, const Dtype*, Dtype*, \
                                                              bool);                              \
  template void BaseConvolutionLayer<Dtype>::forward_cpu_bias(Dtype*, const Dtype*);              \
  template void BaseConvolutionLayer<Dtype>::backward_cpu_gemm(const Dtype*, const Dtype*,        \
                                                               Dtype*);                           \
  template void BaseConvolutionLayer<Dtype>::weight_cpu_gemm(const Dtype*, const Dtype*, Dtype*); \
  template void BaseConvolutionLayer<Dtype>::backward_cpu_bias(Dtype*, const Dtype*)
INSTANTIATE_IMAGE(float);
INSTANTIATE_IMAGE(double);
#undef INSTANTIATE_IMAGE

#ifndef CPU_ONLY
#define INSTANTIATE_IMAGE(Dtype)                                                                  \
  template void BaseConvolutionLayer<Dtype>::forward_gpu_gemm(const Dtype*, const Dtype*, Dtype*, \
                                                              bool);                              \
  template void BaseConvolutionLayer<Dtype>::forward_gpu_bias(Dtype*, const Dtype*);              \
  template void BaseConvolutionLayer<Dtype>::backward_gpu_gemm(const Dtype*, const Dtype*,        \
                                                               Dtype*);                           \
  template void BaseConvolutionLayer<Dtype>::weight_gpu_gemm(const Dtype*, const Dtype*, Dtype*); \
  template void BaseConvolutionLayer<Dtype>::backward_gpu_bias(Dtype*, const Dtype*)
INSTANTIATE_IMAGE(float);
INSTANTIATE_IMAGE(double);
#undef INSTANTIATE_IMAGE
#endif

}  // namespace caffe
