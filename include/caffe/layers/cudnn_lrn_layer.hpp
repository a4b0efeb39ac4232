#ifndef CAFFE_CUDNN_LRN_LAYER_HPP_
#define CAFFE_CUDNN_LRN_LAYER_HPP_

#include "caffe/layers/lrn_layer.hpp"

namespace caffe {

#ifdef USE_CUDNN
/// LRN with ACROSS_CHANNELS under the class name of Caffe's cuDNN version. It is the same layer as
/// LRN: the plan chooses the library that computes it.
template <typename Dtype>
class CuDNNLRNLayer : public LRNLayer<Dtype> {
 public:
  explicit CuDNNLRNLayer(const LayerParameter& param) : LRNLayer<Dtype>(param) {}
  virtual ~CuDNNLRNLayer() {}
};
#endif

}  // namespace caffe

#endif  // CAFFE_CUDNN_LRN_LAYER_HPP_
