#ifndef CAFFE_PARAMETER_CALLBACK_HPP_
#define CAFFE_PARAMETER_CALLBACK_HPP_

#include "caffe/net.hpp"

namespace caffe {

/// A callback that uses only parameters and their gradients, never blobs between layers. A plan may
/// then run layers fused, or replay captured work on a GPU. The callback is then called once for
/// each of these layers, before or after all of them.
template <typename Dtype>
class ParameterCallback : public Net<Dtype>::Callback {
 public:
  /// Whether run(layer) ever does anything. The answer must not change. If false, run(layer) may be
  /// called late or not at all.
  virtual bool Acts(int /*layer*/) const { return true; }
};

}  // namespace caffe

#endif  // CAFFE_PARAMETER_CALLBACK_HPP_
