#ifndef TOOLS_LAYRUB_DIVIDED_SOLVER_HPP_
#define TOOLS_LAYRUB_DIVIDED_SOLVER_HPP_

#include <memory>
#include <string>

#include "caffe/caffe.hpp"
#include "caffe/device_group.hpp"
#include "caffe/divided_training.hpp"
#include "layrub/device/ranks.hpp"

namespace layrub_tool {

/// This process's part of the training of a net that is divided among those that mpirun has
/// started (--partition).
struct DividedSolver {
  std::unique_ptr<caffe::DeviceGroupScope> scope;
  std::unique_ptr<caffe::Solver<float>> solver;
  std::unique_ptr<caffe::DividedTraining<float>> training;
};

/// In the first process: divides the nets of `whole`, gives the others what they need, and makes
/// this one's solver, with the state of the file `snapshot` if that is not empty. It is not placed.
DividedSolver LeadDivided(layrub::RankCommunicator* ranks, caffe::SolverParameter whole,
                          const std::string& snapshot);

/// In another process: trains as the first one does, to the end. Throws layrub::GroupFailed.
void FollowDivided(layrub::RankCommunicator* ranks);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_DIVIDED_SOLVER_HPP_
