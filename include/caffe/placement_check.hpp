#ifndef CAFFE_PLACEMENT_CHECK_HPP_
#define CAFFE_PLACEMENT_CHECK_HPP_

#include "layrub/base/status.hpp"

namespace caffe {

class PlacementParameter;

/// kInvalid where strategy or bytes make no sense; the message names the field.
layrub::Status CheckPlacement(const PlacementParameter& parameter);

}  // namespace caffe

#endif  // CAFFE_PLACEMENT_CHECK_HPP_
