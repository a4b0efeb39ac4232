#ifndef TOOLS_LAYRUB_PLANNED_TIME_HPP_
#define TOOLS_LAYRUB_PLANNED_TIME_HPP_

#include "caffe/proto/caffe.pb.h"
#include "layrub/base/status.hpp"
#include "layrub/time_report.hpp"

namespace layrub_tool {

/// Trains `net` for some iterations under the plan that the flags ask for, at a learning rate of 0
/// and from --weights where given, and tells how the one of the median time was spent. Without
/// --machine the prediction is by what is measured of the machine and of each operation.
/// kDoesNotFit or kInvalid as Solver::Place.
layrub::Result<TimeReport> TimePlanned(const caffe::NetParameter& net, int iterations);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PLANNED_TIME_HPP_
