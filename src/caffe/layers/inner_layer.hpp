#ifndef CAFFE_LAYERS_INNER_LAYER_HPP_
#define CAFFE_LAYERS_INNER_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// The layer of type `type` that Caffe's losses have inside, made of their own parameters and set
/// up: for classes that users derive from them.
template <typename Dtype>
shared_ptr<Layer<Dtype>> MakeInnerLayer(LayerParameter param, const char* type,
                                        const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  param.set_type(type);
  param.clear_loss_weight();
  const shared_ptr<Layer<Dtype>> layer = LayerRegistry<Dtype>::CreateLayer(param);
  layer->SetUp(bottom, top);
  return layer;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_INNER_LAYER_HPP_
