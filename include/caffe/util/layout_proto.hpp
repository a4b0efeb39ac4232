#ifndef CAFFE_UTIL_LAYOUT_PROTO_HPP_
#define CAFFE_UTIL_LAYOUT_PROTO_HPP_

#include "caffe/proto/caffe.pb.h"
#include "layrub/partition/layout.hpp"

namespace caffe {

layrub::Layout FromProto(const DeviceLayout& proto);
DeviceLayout ToProto(const layrub::Layout& layout);

}  // namespace caffe

#endif  // CAFFE_UTIL_LAYOUT_PROTO_HPP_
