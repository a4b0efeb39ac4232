#ifndef TOOLS_LAYRUB_DIVIDED_SOLVER_HPP_
#define TOOLS_LAYRUB_DIVIDED_SOLVER_HPP_

#include <memory>
#include <string>

#include "caffe/caffe.hpp"
#include "caffe/device_group.hpp"
#include "caffe/divided_training.hpp"
#include "layrub/device/ranks.hpp"

namespace layrub_tool {

/// This process's part in training a net that is divided among the processes that mpirun has
/// started (--partition).
struct DividedSolver {
  std::unique_ptr<caffe::DeviceGroupScope> scope;
  std::unique_ptr<caffe::Solver<float>> solver;
  std::unique_ptr<caffe::DividedTraining<float>> training;
};

/// In the first process: divides the nets of `whole`, sends the other processes what they need, and
/// makes this process's solver, restored from the file `snapshot` unless that is empty. The solver
/// is not placed yet.
DividedSolver LeadDivided(layrub::RankCommunicator* ranks, caffe::SolverParameter whole,
                          const std::string& snapshot);

/// In another process: trains with the first process until training ends. Throws
/// layrub::GroupFailed if this or another process fails.
void FollowDivided(layrub::RankCommunicator* ranks);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_DIVIDED_SOLVER_HPP_
