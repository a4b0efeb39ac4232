#ifndef CAFFE_CUDNN_RELU_LAYER_HPP_
#define CAFFE_CUDNN_RELU_LAYER_HPP_

#include "caffe/layers/relu_layer.hpp"

namespace caffe {

#ifdef USE_CUDNN
/// ReLU under the name of Caffe's variant by cuDNN. There is one layer here: the plan chooses who
/// computes it.
template <typename Dtype>
class CuDNNReLULayer : public ReLULayer<Dtype> {
 public:
  explicit CuDNNReLULayer(const LayerParameter& param) : ReLULayer<Dtype>(param) {}
  virtual ~CuDNNReLULayer() {}
};
#endif

}  // namespace caffe

#endif  // CAFFE_CUDNN_RELU_LAYER_HPP_
