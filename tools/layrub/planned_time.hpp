#ifndef TOOLS_LAYRUB_PLANNED_TIME_HPP_
#define TOOLS_LAYRUB_PLANNED_TIME_HPP_

#include "caffe/proto/caffe.pb.h"
#include "layrub/base/status.hpp"
#include "layrub/time_report.hpp"

namespace layrub_tool {

/// Trains `net` for `iterations` iterations under the plan that the flags ask for, with learning
/// rate 0 and from --weights if given, and reports the iteration of median time. Without --machine,
/// the prediction uses measurements of this machine and of each operation. Returns kDoesNotFit or
/// kInvalid as Solver::Place does.
layrub::Result<TimeReport> TimePlanned(const caffe::NetParameter& net, int iterations);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PLANNED_TIME_HPP_
