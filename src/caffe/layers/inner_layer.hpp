#ifndef CAFFE_LAYERS_INNER_LAYER_HPP_
#define CAFFE_LAYERS_INNER_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Creates and sets up the layer of type `type` that Caffe's losses contain, from the loss's own
/// parameters. Only for classes that users derive from losses.
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
