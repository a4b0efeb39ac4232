#ifndef CAFFE_CUDNN_RELU_LAYER_HPP_
#define CAFFE_CUDNN_RELU_LAYER_HPP_

#include "caffe/layers/relu_layer.hpp"

namespace caffe {

#ifdef USE_CUDNN
/// ReLU under the class name of Caffe's cuDNN version. It is the same layer as ReLU: the plan
/// chooses the library that computes it.
template <typename Dtype>
class CuDNNReLULayer : public ReLULayer<Dtype> {
 public:
  explicit CuDNNReLULayer(const LayerParameter& param) : ReLULayer<Dtype>(param) {}
  virtual ~CuDNNReLULayer() {}
};
#endif

}  // namespace caffe

#endif  // CAFFE_CUDNN_RELU_LAYER_HPP_
