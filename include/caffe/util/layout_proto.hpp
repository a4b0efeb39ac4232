#ifndef CAFFE_UTIL_LAYOUT_PROTO_HPP_
#define CAFFE_UTIL_LAYOUT_PROTO_HPP_

#include "caffe/proto/caffe.pb.h"
#include "layrub/partition/layout.hpp"

namespace caffe {

layrub::Layout FromProto(const DeviceLayout& proto);
DeviceLayout ToProto(const layrub::Layout& layout);

/// Returns the layout of a state, 1 x N x units, that a recurrent layer carries from pass to pass
/// in a net that is divided among devices; without levels if it is not divided. Its first top is T
/// x N x units.
layrub::Layout StateLayout(const LayerParameter& layer);

}  // namespace caffe

#endif  // CAFFE_UTIL_LAYOUT_PROTO_HPP_
