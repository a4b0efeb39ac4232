#ifndef CAFFE_SOLVER_VERIFICATION_HPP_
#define CAFFE_SOLVER_VERIFICATION_HPP_

#include <string>

#include "caffe/placement.hpp"
#include "caffe/proto/caffe.pb.h"
#include "layrub/base/status.hpp"
#include "layrub/placement/cost/machine.hpp"

namespace caffe {

/// Trains twice, with the same random numbers (seed 1 if `param` has none): in one solver under the
/// memory plan that `param` asks for, and in another without any plan. Both use the same algorithms
/// (PlacementOptions::deterministic). After each of `iterations` iterations, every bit of the loss,
/// the outputs of the test nets, all parameters and the history is compared. Test nets run once per
/// iteration; nothing is displayed or written.
///
/// Returns "" if all are equal. Otherwise returns a sentence about the first difference, with
/// iteration, name, index and both values, and with the in-place layer whose overwriting a plan
/// does not repeat, if there is one. Returns kDoesNotFit or kInvalid as Solver::Place. `snapshot`,
/// unless empty, is a .solverstate file to start from. The plan is made for `machine`, with these
/// `optimizations`. The two solvers do not exist at the same time: of the first training, only the
/// CRC-32 of each value in each iteration is kept.
layrub::Result<std::string> VerifyPlacement(const SolverParameter& param, int iterations,
                                            const std::string& snapshot = "",
                                            const layrub::Machine& machine = {},
                                            const Optimizations& optimizations = {});

}  // namespace caffe

#endif  // CAFFE_SOLVER_VERIFICATION_HPP_
