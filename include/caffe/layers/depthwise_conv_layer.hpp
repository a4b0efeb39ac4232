#ifndef CAFFE_DEPTHWISE_CONV_LAYER_HPP_
#define CAFFE_DEPTHWISE_CONV_LAYER_HPP_

#include <vector>

#include "caffe/layers/conv_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// A Convolution with one group per input channel (Howard et al., MobileNets, 2017). The types
/// ConvolutionDepthwise and DepthwiseConvolution of Caffe's forks are this layer. It reads
/// convolution_param as Convolution does; group may be omitted, and num_output must be a multiple
/// of the channels. blobs_ are those of a Convolution: filters (num_output x 1 x kernel), biases.
template <typename Dtype>
class DepthwiseConvolutionLayer : public ConvolutionLayer<Dtype> {
 public:
  explicit DepthwiseConvolutionLayer(const LayerParameter& param)
      : ConvolutionLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return this->layer_param_.type().c_str(); }
  /// Describes the forward and backward of this class; a subclass has no traits unless it overrides
  /// this.
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_DEPTHWISE_CONV_LAYER_HPP_
