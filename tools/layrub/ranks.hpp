#ifndef TOOLS_LAYRUB_RANKS_HPP_
#define TOOLS_LAYRUB_RANKS_HPP_

#include <memory>

#include "caffe/caffe.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/ranks.hpp"

namespace layrub_tool {

/// What the solver runs on where --gpu does not say so.
DeviceKind KindOf(const caffe::SolverParameter& param);

/// What the flags --sigint_effect, --sighup_effect and --sigterm_effect ask for. A wrong one ends
/// the program.
struct SignalEffects {
  caffe::SolverAction::Enum sigint, sighup, sigterm;
};
SignalEffects SignalEffectFlags();

/// Joins the processes that mpirun has started with this one: this thread's solvers are one of as
/// many, and the cores are divided among the processes that share them. Null where this process was
/// started alone.
std::unique_ptr<layrub::RankCommunicator> JoinRanks();

/// What `layrub train` does in a process other than the first: it trains as the first one asks.
/// The exit code.
int FollowTraining(layrub::RankCommunicator* ranks);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_RANKS_HPP_
