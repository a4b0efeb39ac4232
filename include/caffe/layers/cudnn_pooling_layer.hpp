#ifndef CAFFE_CUDNN_POOLING_LAYER_HPP_
#define CAFFE_CUDNN_POOLING_LAYER_HPP_

#include "caffe/layers/pooling_layer.hpp"

namespace caffe {

#ifdef USE_CUDNN
/// Pooling under the class name of Caffe's cuDNN version. It is the same layer as Pooling: the plan
/// chooses the library that computes it.
template <typename Dtype>
class CuDNNPoolingLayer : public PoolingLayer<Dtype> {
 public:
  explicit CuDNNPoolingLayer(const LayerParameter& param) : PoolingLayer<Dtype>(param) {}
  virtual ~CuDNNPoolingLayer() {}
};
#endif

}  // namespace caffe

#endif  // CAFFE_CUDNN_POOLING_LAYER_HPP_
