#ifndef CAFFE_NET_PARAM_LAYOUTS_HPP_
#define CAFFE_NET_PARAM_LAYOUTS_HPP_

#include <vector>

#include "caffe/net.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// Returns which part of each of Net::learnable_params this device has, if the net is divided among
/// devices (ParamSpec::layout). A layout without levels is the whole parameter.
template <typename Dtype>
vector<layrub::Layout> ParamLayouts(const Net<Dtype>& net);

}  // namespace caffe

#endif  // CAFFE_NET_PARAM_LAYOUTS_HPP_
