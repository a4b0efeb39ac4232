#ifndef CAFFE_LAYERS_FORK_TYPE_HPP_
#define CAFFE_LAYERS_FORK_TYPE_HPP_

#include "caffe/layer_factory.hpp"

/// Like REGISTER_LAYER_CREATOR and REGISTER_LAYER_CLASS, for types that Caffe does not have.
#define REGISTER_FORK_LAYER_CREATOR(type, creator)                                             \
  static LayerRegisterer<float> g_creator_f_##type(#type, creator<float>, LayerOrigin::kFork); \
  static LayerRegisterer<double> g_creator_d_##type(#type, creator<double>, LayerOrigin::kFork)

#define REGISTER_FORK_LAYER_CLASS(type)                                                \
  template <typename Dtype>                                                            \
  static shared_ptr<Layer<Dtype>> Creator_##type##Layer(const LayerParameter& param) { \
    return shared_ptr<Layer<Dtype>>(new type##Layer<Dtype>(param));                    \
  }                                                                                    \
  REGISTER_FORK_LAYER_CREATOR(type, Creator_##type##Layer)

#endif  // CAFFE_LAYERS_FORK_TYPE_HPP_
