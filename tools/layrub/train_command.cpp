#include <glog/logging.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/solver_check.hpp"
#include "caffe/solver_snapshots.hpp"
#include "caffe/util/signal_handler.h"
#include "layrub/activity.hpp"
#include "layrub/base/bytes.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/device.hpp"
#include "layrub/device/pool.hpp"
#include "layrub/divided_solver.hpp"
#include "layrub/flags.hpp"
#include "layrub/json_text.hpp"
#include "layrub/machine_file.hpp"
#include "layrub/ranks.hpp"
#include "layrub/report/metrics.hpp"
#include "layrub/training_line.hpp"
#include "layrub/training_report.hpp"
#include "layrub/verify_placements.hpp"

namespace layrub_tool {

namespace {

using caffe::Solver;
using caffe::SolverAction::Enum;
using nlohmann::json;

caffe::SolverParameter ReadSolver() {
  caffe::SolverParameter param = SolverFlag(true);
  ApplyStateFlags(param.mutable_train_state());
  if (FLAGS_verify_placement < 0) Fail("--verify_placement must be at least 1.");
  if (Given("max_iter") && FLAGS_max_iter < 1) Fail("--max_iter must be at least 1.");
  if (FLAGS_max_iter > 0) param.set_max_iter(FLAGS_max_iter);
  if (FLAGS_stop_on_nan) param.set_stop_on_nan(true);
  caffe::CheckSolver(param);
  ApplyPlacementFlags(param.mutable_placement());
  ApplyDataFlags(true, &param);
  if (!FLAGS_weights.empty()) {
    param.clear_weights();
    param.add_weights(FLAGS_weights);
  }
  return param;
}

/// The solver state to resume from, "" for none.
std::string SnapshotFlag(const caffe::SolverParameter& param) {
  if (FLAGS_snapshot != "latest") return FLAGS_snapshot;
  const layrub::Result<std::string> latest = caffe::LatestSnapshot(param.snapshot_prefix());
  if (!latest.ok()) Fail("--snapshot=latest: " + latest.status().message + ".");
  LOG_IF(INFO, latest.value().empty())
      << "--snapshot=latest: there is no snapshot under " << param.snapshot_prefix()
      << ", so training begins at iteration 0";
  return latest.value();
}

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Measures iterations, each from its start to the start of the next. The last one does not count,
/// as a snapshot may follow it.
class StepTimes : public Solver<float>::Callback {
 public:
  /// The median, or null if there is no iteration. Leaves out the first one, which fills caches and
  /// reads files, unless it is the only one.
  json Median() {
    if (seconds_.size() > 1) seconds_.erase(seconds_.begin());
    if (seconds_.empty()) return json();
    const auto middle = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2);
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    return *middle;
  }

 protected:
  void on_start() override {
    if (started_) seconds_.push_back(SecondsSince(last_));
    started_ = true;
    last_ = Clock::now();
  }
  void on_gradients_ready() override {}

 private:
  bool started_ = false;
  Clock::time_point last_;
  std::vector<double> seconds_;
};

/// Writes a warning to the log file once the reader of standard error has gone away.
class LogReader : public Solver<float>::Callback {
 protected:
  void on_start() override {
    pollfd standard_error = {STDERR_FILENO, 0, 0};
    if (gone_ || poll(&standard_error, 1, 0) != 1) return;
    gone_ = true;
    LOG(WARNING)
        << "The reader of standard error has gone away. Training goes on, and its log goes to "
           "the log file only.";
  }
  void on_gradients_ready() override {}

 private:
  bool gone_ = false;
};

/// The pool that holds memory outside of plans.
layrub::Pool& PoolOfBlobs() {
  return caffe::Caffe::mode() == caffe::Caffe::GPU ? caffe::Caffe::device().pool()
                                                   : layrub::Pool::Cpu();
}

/// Memory, traffic, time and scores of a finished run.
json Summarize(Solver<float>* solver, double seconds) {
  caffe::PlannedNet<float>* planned = solver->net()->planned();
  json summary = {{"iterations", solver->iter()}, {"seconds", seconds}};
  if (planned) {
    const layrub::Executor& executor = planned->executor();
    const auto keep = layrub::MakePlan(planned->graph(), {}, {}, "keep");
    summary["strategy"] = planned->plan().strategy;
    summary["planned_device_bytes"] = solver->planned_device_bytes();
    summary["measured_device_bytes"] =
        FLAGS_measure_memory ? json(solver->measured_device_bytes()) : json();
    summary["train_device_bytes"] = planned->plan().device_bytes;
    summary["predicted_seconds"] =
        layrub::Simulate(planned->graph(), planned->plan(), solver->machine()).seconds;
    summary["keep_device_bytes"] = keep.ok() ? json(keep.value().device_bytes) : json();
    summary["floor_bytes"] = layrub::FloorBytes(planned->graph());
    summary["state_floor_bytes"] = layrub::StateFloorBytes(planned->graph());
    summary["slices"] = planned->slices();
    summary["host_bytes"] = planned->plan().host_bytes;
    summary["spill_bytes"] = planned->plan().spill_bytes;
    summary["bytes_offloaded"] = executor.bytes_offloaded();
    summary["bytes_prefetched"] = executor.bytes_prefetched();
  }
  summary["pool_peak_bytes"] = PoolOfBlobs().peak();
  summary["test_scores"] = json::array();
  for (size_t net = 0; net < solver->test_scores().size(); ++net) {
    for (const auto& [name, value] : solver->test_scores()[net]) {
      summary["test_scores"].push_back({{"net", net}, {"name", name}, {"value", value}});
    }
  }
  return summary;
}

/// Adds what the device's driver reports, and the sum of all that counts as device bytes. All null
/// on a CPU.
void AddUsage(json* summary) {
  for (const char* key :
       {"other_processes_bytes", "context_bytes", "library_bytes", "device_overhead_bytes",
        "device_peak_measured_bytes", "counted_device_bytes"})
    (*summary)[key] = nullptr;
  if (caffe::Caffe::mode() != caffe::Caffe::GPU) return;
  const layrub::DeviceUsage usage = caffe::Caffe::device().Usage();
  (*summary)["other_processes_bytes"] = usage.others_bytes;
  (*summary)["context_bytes"] = usage.context_bytes;
  (*summary)["library_bytes"] = usage.library_bytes;
  (*summary)["device_overhead_bytes"] = usage.overhead_bytes();
  (*summary)["device_peak_measured_bytes"] = usage.peak_bytes;
  if (!summary->contains("planned_device_bytes")) return;
  (*summary)["counted_device_bytes"] = summary->at("planned_device_bytes").get<int64_t>() +
                                       summary->at("pool_peak_bytes").get<int64_t>() +
                                       usage.context_bytes + usage.library_bytes;
}

void LogSummary(const json& summary) {
  if (!summary.contains("strategy")) return;
  const auto mib = [&](const char* key) {
    return layrub::FormatBytes(summary[key].get<int64_t>());
  };
  const bool measured = !summary["measured_device_bytes"].is_null();
  LOG(INFO) << "Memory: " << summary["strategy"].get<std::string>() << ", device planned "
            << mib("planned_device_bytes")
            << (measured ? ", measured " + mib("measured_device_bytes") : "")
            << ", outside the plan " << mib("pool_peak_bytes") << ", host " << mib("host_bytes")
            << (summary["spill_bytes"] > 0 ? ", file " + mib("spill_bytes") : "") << ", moved out "
            << mib("bytes_offloaded") << " and in " << mib("bytes_prefetched");
  if (summary["counted_device_bytes"].is_null()) return;
  LOG(INFO) << "Memory of the device: other processes had " << mib("other_processes_bytes")
            << " at first; context " << mib("context_bytes") << ", libraries "
            << mib("library_bytes") << ", with plan and pool " << mib("counted_device_bytes")
            << "; its driver says that it took " << mib("device_peak_measured_bytes") << " at most";
}

/// `ranks`: the group whose first process this is, or null if there is no group.
int Train(layrub::RankCommunicator* ranks) {
  Require("train", "solver", FLAGS_solver);
  RefuseDataShapeWithoutSynthetic("train");
  if (!FLAGS_snapshot.empty() && !FLAGS_weights.empty()) {
    Fail("give --snapshot to resume training or --weights to fine-tune, but not both.");
  }
  if (!FLAGS_json_summary.empty()) CheckWritable(FLAGS_json_summary);
  const SignalEffects effects = SignalEffectFlags();
  const caffe::SolverParameter param = ReadSolver();
  const std::vector<layrub::Device*> devices = ChooseDevices(KindOf(param), param.device_id());
  const bool divides = !FLAGS_partition.empty();
  if (divides && FLAGS_cpu_solvers > 1)
    Fail("--partition divides one net, --cpu_solvers makes copies of it: give one of them.");
  if (divides && !ranks && devices.size() == 1) {
    Fail(
        "--partition divides a net among GPUs (--gpu=0,1), or among processes, which mpirun starts "
        "(mpirun -np 4 layrub train --partition=" +
        FLAGS_partition + " --solver=" + FLAGS_solver + ").");
  }
  const int solvers = divides ? 1 : ranks ? ranks->size() : static_cast<int>(devices.size());
  if (FLAGS_verify_placement > 0) {
    if (solvers > 1 || divides)
      Fail("--verify_placement compares the training of one solver on one device.");
    if (!FLAGS_json_summary.empty()) Fail("--verify_placement has no --json_summary to write.");
    if (!FLAGS_report.empty()) Fail("--verify_placement has no --report to write.");
    return VerifyPlacements(param, SnapshotFlag(param));
  }
  caffe::SignalHandler signals(effects.sigint, effects.sighup, effects.sigterm,
                               ranks ? effects.sigterm : caffe::SolverAction::NONE);
  const std::string snapshot = SnapshotFlag(param);
  if (!FLAGS_report.empty()) CheckTrainingReport(FLAGS_report);
  caffe::Caffe::set_solver_count(solvers);
  // Before planning, which leaves out of the budget what this takes of a GPU.
  layrub::Group group = devices.size() > 1 ? layrub::Connect(devices) : layrub::Group();
  if (ranks) ranks->UseDevice(devices[0]);
  if (!snapshot.empty()) LOG(INFO) << "Resuming from " << snapshot;
  std::unique_ptr<DividedSolver> divided;
  if (divides) {
    divided = ranks ? std::make_unique<DividedSolver>(ranks, param, snapshot)
                    : std::make_unique<DividedSolver>(std::move(group), param, snapshot);
  }
  const std::unique_ptr<Solver<float>> own(
      divides ? nullptr : caffe::SolverRegistry<float>::CreateSolver(param));
  Solver<float>* const solver = divides ? divided->solver() : own.get();
  std::unique_ptr<caffe::ParallelSolvers<float>> together;
  solver->SetActionFunction([&, asked = signals.GetActionFunction()] {
    const Enum here = asked();
    if (here != caffe::SolverAction::NONE) return here;
    if (divided) return divided->training()->NextMemberRequest();
    return together ? together->NextFollowerRequest() : here;
  });
  if (!snapshot.empty()) {
    if (!divides) solver->Restore(snapshot.c_str());
    if (solver->iter() > param.max_iter()) {
      Fail(snapshot + " is at iteration " + std::to_string(solver->iter()) + ", beyond max_iter " +
           std::to_string(param.max_iter()) + ": nothing is left to train.");
    }
  }
  if (param.snapshot() > 0 || param.snapshot_after_train()) solver->CheckSnapshotWritePermissions();
  solver->mutable_placement_extra()->executor.canary = FLAGS_measure_memory;
  solver->mutable_placement_extra()->executor.record = !FLAGS_report.empty();
  ApplyMachineFlags(solver->mutable_placement_extra());
  const layrub::Status placed = [&] {
    const Activity activity("looking for a plan");
    return divides ? divided->training()->Place() : solver->Place();
  }();
  if (!placed.ok()) return ExitCode(placed);
  WarnIfProfileLacksOperations(solver->net()->planned()->graph(), MachineFlag());

  if (solvers > 1) {
    together.reset(ranks ? new caffe::ParallelSolvers<float>(solver, ranks)
                         : new caffe::ParallelSolvers<float>(solver, std::move(group)));
    LOG(INFO) << "Training with " << solvers << " solvers, on " << solvers
              << " batches in each iteration";
    const layrub::Status started = together->Start(snapshot);
    if (!started.ok()) return ExitCode(started);
  }
  PoolOfBlobs().ResetPeak();
  LOG(INFO) << "Starting Optimization";
  signals.BeginTraining();
  StepTimes steps;
  solver->add_callback(&steps);
  LogReader reader;
  solver->add_callback(&reader);
  std::unique_ptr<Metrics> metrics;
  if (!FLAGS_report.empty()) {
    const bool resumed = !snapshot.empty();
    if (!resumed) RenameOldReport(FLAGS_report);
    metrics = std::make_unique<Metrics>(solver, MetricsFile(FLAGS_report), resumed);
  }
  TrainingLine line(solver, solvers);
  const Clock::time_point start = Clock::now();
  divides ? divided->training()->Solve() : solver->Solve();
  if (divided) divided->Finish();
  if (together) together->Finish();
  const double seconds = SecondsSince(start);
  LOG(INFO) << "Optimization Done.";
  json summary = Summarize(solver, seconds);
  AddUsage(&summary);
  summary["solvers"] = solvers;
  summary["iteration_seconds"] = steps.Median();
  LogSummary(summary);
  if (!FLAGS_json_summary.empty()) WriteFile(FLAGS_json_summary, JsonText(summary));
  if (!FLAGS_report.empty()) WriteTrainingReport(FLAGS_report, solver, solvers);
  return kSuccess;
}

}  // namespace

int RunTrain(const std::vector<std::string>&) {
  const std::unique_ptr<layrub::RankCommunicator> ranks = JoinRanks();
  if (!ranks) return Train(nullptr);
  if (ranks->rank() > 0) return FollowTraining(ranks.get());
  const std::string no_longer = "the first process has ended";
  try {
    const int code = Train(ranks.get());
    if (code != kSuccess) ranks->Abort(no_longer);
    return code;
  } catch (...) {
    ranks->Abort(no_longer);
    throw;
  }
}

}  // namespace layrub_tool
