#ifndef CAFFE_CONV_LAYER_HPP_
#define CAFFE_CONV_LAYER_HPP_

#include <vector>

#include "caffe/layers/base_conv_layer.hpp"

namespace caffe {

/// Convolves each bottom with learned filters and adds a bias. convolution_param: num_output,
/// kernel_size, stride, pad, dilation (one value, or one per spatial axis, or the fields ending in
/// _h and _w), group, bias_term, axis. The type NdConvolution of forks for video is also this
/// layer; its kernel_shape, stride_shape and pad_shape have one value per spatial axis.
template <typename Dtype>
class ConvolutionLayer : public BaseConvolutionLayer<Dtype> {
 public:
  explicit ConvolutionLayer(const LayerParameter& param) : BaseConvolutionLayer<Dtype>(param) {}
  const char* type() const override {
    return this->layer_param_.type() == "NdConvolution" ? "NdConvolution" : "Convolution";
  }
  /// Describes the forward and backward of this class; a subclass has no traits unless it overrides
  /// this.
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  bool reverse_dimensions() override { return false; }
  void compute_output_shape() override;
};

}  // namespace caffe

#endif  // CAFFE_CONV_LAYER_HPP_
