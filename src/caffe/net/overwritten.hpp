#ifndef CAFFE_NET_OVERWRITTEN_HPP_
#define CAFFE_NET_OVERWRITTEN_HPP_

#include "caffe/net.hpp"

namespace caffe {

/// Tells each layer which of its data a later in-place layer overwrites in an unplanned pass
/// (Layer::set_overwritten).
template <typename Dtype>
void TellWhatIsOverwritten(const Net<Dtype>& net);

}  // namespace caffe

#endif  // CAFFE_NET_OVERWRITTEN_HPP_
