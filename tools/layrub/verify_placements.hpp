#ifndef TOOLS_LAYRUB_VERIFY_PLACEMENTS_HPP_
#define TOOLS_LAYRUB_VERIFY_PLACEMENTS_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace layrub_tool {

/// Runs `layrub train --verify_placement=N`: trains N iterations with and without the plan, from
/// `snapshot` unless that is empty, and prints whether the results differ. --placement may list
/// several strategies; each is tried and gets a line, even if others fail. NAME:FACTOR is a
/// strategy within FACTOR times the least memory that any plan takes. Returns the largest exit
/// code: kFailure if there is a difference or something is invalid, kDoesNotFit if a budget is too
/// small.
int VerifyPlacements(caffe::SolverParameter param, const std::string& snapshot);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_VERIFY_PLACEMENTS_HPP_
