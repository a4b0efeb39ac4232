#ifndef CAFFE_PARAMETER_CALLBACK_HPP_
#define CAFFE_PARAMETER_CALLBACK_HPP_

#include "caffe/net.hpp"

namespace caffe {

/// A callback that looks at parameters and their gradients alone, at no blob between layers. A plan
/// may then run layers fused, and repeat on a GPU what it has captured; the callback comes once for
/// each of them, before or after all.
template <typename Dtype>
class ParameterCallback : public Net<Dtype>::Callback {
 public:
  /// Whether run(layer) ever does something: always the same. Where it does not, it may come late,
  /// or not at all.
  virtual bool Acts(int /*layer*/) const { return true; }
};

}  // namespace caffe

#endif  // CAFFE_PARAMETER_CALLBACK_HPP_
