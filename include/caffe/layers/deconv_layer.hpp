#ifndef CAFFE_DECONV_LAYER_HPP_
#define CAFFE_DECONV_LAYER_HPP_

#include <vector>

#include "caffe/layers/base_conv_layer.hpp"

namespace caffe {

/// The adjoint of Convolution with regard to its input, plus a bias: spreads each value of each
/// bottom over a window of the top. Parameters as Convolution's; num_output and the bias are those
/// of the top, and padding is cut off the top.
template <typename Dtype>
class DeconvolutionLayer : public BaseConvolutionLayer<Dtype> {
 public:
  explicit DeconvolutionLayer(const LayerParameter& param) : BaseConvolutionLayer<Dtype>(param) {}
  const char* type() const override { return "Deconvolution"; }
  /// Those of this class's own bodies; a subclass has none unless it overrides this function.
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  bool reverse_dimensions() override { return true; }
  void compute_output_shape() override;
};

}  // namespace caffe

#endif  // CAFFE_DECONV_LAYER_HPP_
