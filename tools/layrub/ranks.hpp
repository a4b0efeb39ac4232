#ifndef TOOLS_LAYRUB_RANKS_HPP_
#define TOOLS_LAYRUB_RANKS_HPP_

#include <memory>

#include "caffe/caffe.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/ranks.hpp"

namespace layrub_tool {

/// What the solver runs on if --gpu is not given.
DeviceKind KindOf(const caffe::SolverParameter& param);

/// The values of --sigint_effect, --sighup_effect and --sigterm_effect. SignalEffectFlags ends the
/// program if one is invalid.
struct SignalEffects {
  caffe::SolverAction::Enum sigint, sighup, sigterm;
};
SignalEffects SignalEffectFlags();

/// Joins the group of processes that mpirun has started. Sets the calling thread's solver count and
/// rank to those of the group, and divides the cores among the processes on this machine. Returns
/// null if mpirun has not started several processes.
std::unique_ptr<layrub::RankCommunicator> JoinRanks();

/// Runs `layrub train` in a process other than the first, under the direction of the first. Returns
/// the exit code.
int FollowTraining(layrub::RankCommunicator* ranks);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_RANKS_HPP_
