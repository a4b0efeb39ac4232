#ifndef CAFFE_NET_PARAM_LAYOUTS_HPP_
#define CAFFE_NET_PARAM_LAYOUTS_HPP_

#include <vector>

#include "caffe/net.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// What this device has of each of Net::learnable_params, where the net is one of several devices
/// (ParamSpec::layout). Without levels: all of it.
template <typename Dtype>
vector<layrub::Layout> ParamLayouts(const Net<Dtype>& net);

}  // namespace caffe

#endif  // CAFFE_NET_PARAM_LAYOUTS_HPP_
