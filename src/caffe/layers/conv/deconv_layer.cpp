#include "caffe/layers/deconv_layer.hpp"

#include <typeinfo>

#include "conv_rule.hpp"

namespace caffe {

template <typename Dtype>
void DeconvolutionLayer<Dtype>::compute_output_shape() {
  this->output_shape_.clear();
  for (int i = 0; i < this->num_spatial_axes_; ++i) {
    const int64_t input = this->input_shape(i + 1), kernel = this->kernel_shape_.cpu_data()[i],
                  stride = this->stride_.cpu_data()[i], pad = this->pad_.cpu_data()[i],
                  dilation = this->dilation_.cpu_data()[i];
    const int64_t output = stride * (input - 1) + dilation * (kernel - 1) + 1 - 2 * pad;
    CHECK(input >= 1 && output >= 1 && output <= INT_MAX)
        << "Layer " << this->layer_param_.name() << ": spatial axis " << i << " of its output has "
        << "no valid size (" << input << " input values, kernel " << kernel << ", stride " << stride
        << ", pad " << pad << ", dilation " << dilation << ").";
    this->output_shape_.push_back(static_cast<int>(output));
  }
}

template <typename Dtype>
MemoryTraits DeconvolutionLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down) const {
  if (typeid(*this) != typeid(DeconvolutionLayer))
    return Layer<Dtype>::Traits(bottom, top, propagate_down);
  return this->TraitsOfThisClass(bottom, top, propagate_down);
}

INSTANTIATE_CLASS(DeconvolutionLayer);
REGISTER_LAYER_CLASS(Deconvolution);
REGISTER_LAYER_AXES(Deconvolution, ConvolutionRule);

}  // namespace caffe
