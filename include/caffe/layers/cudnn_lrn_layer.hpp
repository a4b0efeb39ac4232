#ifndef CAFFE_CUDNN_LRN_LAYER_HPP_
#define CAFFE_CUDNN_LRN_LAYER_HPP_

#include "caffe/layers/lrn_layer.hpp"

namespace caffe {

#ifdef USE_CUDNN
/// LRN with ACROSS_CHANNELS under the name of Caffe's variant by cuDNN. There is one layer here:
/// the plan chooses who computes it.
template <typename Dtype>
class CuDNNLRNLayer : public LRNLayer<Dtype> {
 public:
  explicit CuDNNLRNLayer(const LayerParameter& param) : LRNLayer<Dtype>(param) {}
  virtual ~CuDNNLRNLayer() {}
};
#endif

}  // namespace caffe

#endif  // CAFFE_CUDNN_LRN_LAYER_HPP_
