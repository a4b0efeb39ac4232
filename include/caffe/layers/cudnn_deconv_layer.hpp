#ifndef CAFFE_CUDNN_DECONV_LAYER_HPP_
#define CAFFE_CUDNN_DECONV_LAYER_HPP_

#include "caffe/layers/deconv_layer.hpp"

namespace caffe {

#ifdef USE_CUDNN
/// Deconvolution under the class name of Caffe's cuDNN version. It is the same layer as
/// Deconvolution: the plan chooses the library that computes it.
template <typename Dtype>
class CuDNNDeconvolutionLayer : public DeconvolutionLayer<Dtype> {
 public:
  explicit CuDNNDeconvolutionLayer(const LayerParameter& param)
      : DeconvolutionLayer<Dtype>(param) {}
  virtual ~CuDNNDeconvolutionLayer() {}
};
#endif

}  // namespace caffe

#endif  // CAFFE_CUDNN_DECONV_LAYER_HPP_
