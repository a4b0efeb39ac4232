#ifndef CAFFE_PLACEMENT_CHECK_HPP_
#define CAFFE_PLACEMENT_CHECK_HPP_

#include "layrub/base/status.hpp"

namespace caffe {

class PlacementParameter;

/// Returns kInvalid, naming the field, if the strategy or a number of bytes is invalid.
layrub::Status CheckPlacement(const PlacementParameter& parameter);

}  // namespace caffe

#endif  // CAFFE_PLACEMENT_CHECK_HPP_
