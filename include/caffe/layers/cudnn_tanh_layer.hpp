#ifndef CAFFE_CUDNN_TANH_LAYER_HPP_
#define CAFFE_CUDNN_TANH_LAYER_HPP_

#include "caffe/layers/tanh_layer.hpp"

namespace caffe {

#ifdef USE_CUDNN
/// TanH under the name of Caffe's variant by cuDNN. There is one layer here: the plan chooses who
/// computes it.
template <typename Dtype>
class CuDNNTanHLayer : public TanHLayer<Dtype> {
 public:
  explicit CuDNNTanHLayer(const LayerParameter& param) : TanHLayer<Dtype>(param) {}
  virtual ~CuDNNTanHLayer() {}
};
#endif

}  // namespace caffe

#endif  // CAFFE_CUDNN_TANH_LAYER_HPP_
