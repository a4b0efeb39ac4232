#include "caffe/layers/conv_layer.hpp"

#include <typeinfo>

#include "caffe/kernels/conv/im2col.hpp"
#include "caffe/layers/fork_type.hpp"
#include "conv_rule.hpp"

namespace caffe {

template <typename Dtype>
void ConvolutionLayer<Dtype>::compute_output_shape() {
  this->output_shape_.clear();
  for (int i = 0; i < this->num_spatial_axes_; ++i) {
    const int64_t output = kernels::OutputDim(
        this->input_shape(i + 1), this->kernel_shape_.cpu_data()[i], this->pad_.cpu_data()[i],
        this->stride_.cpu_data()[i], this->dilation_.cpu_data()[i]);
    CHECK(output >= 1 && output <= INT_MAX)
        << "Layer " << this->layer_param_.name() << ": the kernel does not fit spatial axis " << i
        << " of its input (" << this->input_shape(i + 1) << " values, kernel "
        << this->kernel_shape_.cpu_data()[i] << ", pad " << this->pad_.cpu_data()[i]
        << ", dilation " << this->dilation_.cpu_data()[i] << ").";
    this->output_shape_.push_back(static_cast<int>(output));
  }
}

template <typename Dtype>
MemoryTraits ConvolutionLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down) const {
  if (typeid(*this) != typeid(ConvolutionLayer))
    return Layer<Dtype>::Traits(bottom, top, propagate_down);
  return this->TraitsOfThisClass(bottom, top, propagate_down);
}

INSTANTIATE_CLASS(ConvolutionLayer);
REGISTER_LAYER_CLASS(Convolution);
REGISTER_FORK_LAYER_CREATOR(NdConvolution, Creator_ConvolutionLayer);
REGISTER_LAYER_AXES(Convolution, ConvolutionRule);
REGISTER_LAYER_AXES(NdConvolution, ConvolutionRule);

}  // namespace caffe
