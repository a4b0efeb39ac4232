#include "caffe/layers/depthwise_conv_layer.hpp"

#include <typeinfo>

#include "caffe/layer_factory.hpp"
#include "caffe/layers/fork_type.hpp"
#include "conv_rule.hpp"

namespace caffe {

template <typename Dtype>
void DepthwiseConvolutionLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  ConvolutionParameter* const param = this->layer_param_.mutable_convolution_param();
  const int channels = bottom[0]->shape(bottom[0]->CanonicalAxisIndex(param->axis()));
  CHECK(!param->has_group() || static_cast<int64_t>(param->group()) == channels)
      << "Layer " << this->layer_param_.name() << ": " << type()
      << " has a group for each channel of its input, " << channels << "; group is "
      << param->group() << ".";
  param->set_group(static_cast<uint32_t>(channels));
  ConvolutionLayer<Dtype>::LayerSetUp(bottom, top);
}

template <typename Dtype>
MemoryTraits DepthwiseConvolutionLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                                      const vector<Blob<Dtype>*>& top,
                                                      const vector<bool>& propagate_down) const {
  if (typeid(*this) != typeid(DepthwiseConvolutionLayer))
    return Layer<Dtype>::Traits(bottom, top, propagate_down);
  return this->TraitsOfThisClass(bottom, top, propagate_down);
}

INSTANTIATE_CLASS(DepthwiseConvolutionLayer);
REGISTER_FORK_LAYER_CLASS(DepthwiseConvolution);
REGISTER_FORK_LAYER_CREATOR(ConvolutionDepthwise, Creator_DepthwiseConvolutionLayer);
REGISTER_LAYER_AXES(DepthwiseConvolution, ConvolutionRule);
REGISTER_LAYER_AXES(ConvolutionDepthwise, ConvolutionRule);

}  // namespace caffe
