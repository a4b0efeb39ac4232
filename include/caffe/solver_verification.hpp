#ifndef CAFFE_SOLVER_VERIFICATION_HPP_
#define CAFFE_SOLVER_VERIFICATION_HPP_

#include <string>

#include "caffe/placement.hpp"
#include "caffe/proto/caffe.pb.h"
#include "layrub/base/status.hpp"
#include "layrub/placement/cost/machine.hpp"

namespace caffe {

/// Trains twice, with the same random numbers (seed 1 where `param` has none): under the memory
/// plan that `param` asks for, and in a solver of its own without any plan; operations with a
/// choice of workspaces have the same in both (PlacementOptions::deterministic). After each of
/// `iterations` iterations (test nets run once in each; nothing is displayed or written) every bit
/// of the loss, the outputs of the test nets, all parameters and the history is compared.
///
/// "" when all are equal, otherwise the first difference, in a sentence with iteration, name, index
/// and both values, and, where there is one, with the layer in place whose overwriting a plan does
/// not repeat. kDoesNotFit or kInvalid as Solver::Place. `snapshot`, unless empty, is a
/// .solverstate file to start from; `machine` is planned for, with these `optimizations`. The two
/// trainings do not exist at the same time: what is kept of the first is the CRC-32 of each value
/// in each iteration.
layrub::Result<std::string> VerifyPlacement(const SolverParameter& param, int iterations,
                                            const std::string& snapshot = "",
                                            const layrub::Machine& machine = {},
                                            const Optimizations& optimizations = {});

}  // namespace caffe

#endif  // CAFFE_SOLVER_VERIFICATION_HPP_
