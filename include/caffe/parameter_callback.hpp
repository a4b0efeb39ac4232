#ifndef CAFFE_PARAMETER_CALLBACK_HPP_
#define CAFFE_PARAMETER_CALLBACK_HPP_

#include "caffe/net.hpp"

namespace caffe {

/// A callback that looks at parameters and their gradients alone, at no blob between layers. A plan
/// may then run layers fused; the callback comes once for each of them, before or after all.
template <typename Dtype>
class ParameterCallback : public Net<Dtype>::Callback {};

}  // namespace caffe

#endif  // CAFFE_PARAMETER_CALLBACK_HPP_
