#ifndef CAFFE_NET_OVERWRITTEN_HPP_
#define CAFFE_NET_OVERWRITTEN_HPP_

#include "caffe/net.hpp"

namespace caffe {

/// Calls Layer::set_overwritten of each layer: which of its data a later in-place layer overwrites
/// in an unplanned pass.
template <typename Dtype>
void SetOverwrittenFlags(const Net<Dtype>& net);

}  // namespace caffe

#endif  // CAFFE_NET_OVERWRITTEN_HPP_
