#ifndef TOOLS_LAYRUB_VERIFY_PLACEMENTS_HPP_
#define TOOLS_LAYRUB_VERIFY_PLACEMENTS_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace layrub_tool {

/// What `layrub train --verify_placement=N` does: trains N iterations with and without the plan,
/// from `snapshot` unless that is empty, and prints whether there is a difference. --placement may
/// list strategies, each of which has its turn and its line, whatever becomes of the others.
/// NAME:FACTOR is a strategy within FACTOR times the least memory that any plan takes. Returns the
/// largest exit code: kFailure where there is a difference or something is invalid, kDoesNotFit
/// where a budget is too small.
int VerifyPlacements(caffe::SolverParameter param, const std::string& snapshot);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_VERIFY_PLACEMENTS_HPP_
