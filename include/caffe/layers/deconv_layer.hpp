#ifndef CAFFE_DECONV_LAYER_HPP_
#define CAFFE_DECONV_LAYER_HPP_

#include <vector>

#include "caffe/layers/base_conv_layer.hpp"

namespace caffe {

/// The adjoint of Convolution with respect to its input, plus a bias: each bottom value is spread
/// over a window of the top. Parameters are as for Convolution. num_output and the bias are those
/// of the top, and padding is cut off the top.
template <typename Dtype>
class DeconvolutionLayer : public BaseConvolutionLayer<Dtype> {
 public:
  explicit DeconvolutionLayer(const LayerParameter& param) : BaseConvolutionLayer<Dtype>(param) {}
  const char* type() const override { return "Deconvolution"; }
  /// Describes the forward and backward of this class; a subclass has no traits unless it overrides
  /// this.
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  bool reverse_dimensions() override { return true; }
  void compute_output_shape() override;
};

}  // namespace caffe

#endif  // CAFFE_DECONV_LAYER_HPP_
