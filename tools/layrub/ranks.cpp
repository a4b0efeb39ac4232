#include "layrub/ranks.hpp"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "caffe/util/signal_handler.h"
#include "caffe/util/threads.hpp"
#include "layrub/commands.hpp"
#include "layrub/divided_solver.hpp"
#include "layrub/flags.hpp"
#include "layrub/machine_file.hpp"

namespace layrub_tool {

namespace {

void DivideCores(const layrub::RankCommunicator& ranks) {
  if (!Given("threads")) caffe::SetCpuThreads(std::max(1, caffe::CpuThreads() / ranks.sharers()));
  LOG_IF(WARNING, ranks.idle_cores() > 0 && ranks.rank() == 0)
      << "mpirun lets its processes run on some cores of this machine only, and "
      << ranks.idle_cores() << " cores are idle: mpirun --bind-to none uses all cores.";
}

caffe::SolverAction::Enum SignalEffect(const std::string& flag, const std::string& value) {
  if (value == "stop") return caffe::SolverAction::STOP;
  if (value == "snapshot") return caffe::SolverAction::SNAPSHOT;
  if (value == "none") return caffe::SolverAction::NONE;
  Fail("--" + flag + "=" + value + ": the effect of a signal is stop, snapshot or none.");
}

}  // namespace

DeviceKind KindOf(const caffe::SolverParameter& param) {
  if (!param.has_solver_mode()) return DeviceKind::kGpuIfAny;
  return param.solver_mode() == caffe::SolverParameter_SolverMode_GPU ? DeviceKind::kGpu
                                                                      : DeviceKind::kCpu;
}

SignalEffects SignalEffectFlags() {
  return {SignalEffect("sigint_effect", FLAGS_sigint_effect),
          SignalEffect("sighup_effect", FLAGS_sighup_effect),
          SignalEffect("sigterm_effect", FLAGS_sigterm_effect)};
}

std::unique_ptr<layrub::RankCommunicator> JoinRanks() {
  if (!layrub::StartedByMpi()) return nullptr;
  std::string why_not;
  std::unique_ptr<layrub::RankCommunicator> ranks = layrub::ConnectRanks(&why_not);
  if (!ranks) Fail("mpirun has started this process with others. " + why_not);
  SetRanks(ranks.get());
  caffe::Caffe::set_solver_count(ranks->size());
  caffe::Caffe::set_solver_rank(ranks->rank());
  caffe::Caffe::set_multiprocess(true);
  DivideCores(*ranks);
  return ranks;
}

int FollowTraining(layrub::RankCommunicator* ranks) {
  const auto [sigint, sighup, sigterm] = SignalEffectFlags();
  std::optional<caffe::SignalHandler> signals;
  const auto set_up = [&, sigint = sigint, sighup = sighup,
                       sigterm = sigterm](const caffe::SolverParameter& param) {
    ranks->UseDevice(ChooseDevices(KindOf(param), param.device_id())[0]);
    signals.emplace(sigint, sighup, sigterm, sigterm);
    signals->BeginTraining();
    caffe::PlacementOptions options;
    options.executor.canary = FLAGS_measure_memory;
    ApplyMachineFlags(&options);
    return options;
  };
  try {
    if (!FLAGS_partition.empty()) {
      FollowDivided(ranks);
      return kSuccess;
    }
    caffe::FollowRoot<float>(ranks, set_up, [&] { return signals->GetActionFunction()(); });
  } catch (const layrub::GroupFailed&) {
    // The first process reports the reason, and mpirun ends this process.
    signals.reset();
    sleep(5);
    return kFailure;
  }
  return kSuccess;
}

}  // namespace layrub_tool
