#include "layrub/verify_placements.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/solver_verification.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/device.hpp"
#include "layrub/flags.hpp"
#include "layrub/machine_file.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace layrub_tool {

namespace {

using caffe::Solver;

/// A lower bound on the device bytes of plans in which the train net has the graph `train`, for the
/// nets of `solver`, which is placed under liveness. Test nets are always planned by liveness and
/// run in the bytes that training needs only during a pass.
int64_t LeastBytes(Solver<float>& solver, const layrub::Graph& train) {
  const auto resident = [](const caffe::Net<float>& net) {
    return layrub::HomeBytes(net.planned()->graph(), net.planned()->plan());
  };
  int64_t kept_by_tests = 0, largest_test = 0;
  for (const auto& net : solver.test_nets()) {
    kept_by_tests += resident(*net);
    largest_test = std::max(largest_test, net->planned()->plan().device_bytes - resident(*net));
  }
  return kept_by_tests +
         std::max(layrub::FloorBytes(train), layrub::StateBytes(train) + largest_test);
}

/// A budget for training on this device: `factor` times the lower bound of any plan, plus what
/// context and libraries take.
layrub::Result<int64_t> BudgetTimesFloor(caffe::SolverParameter param, double factor) {
  caffe::PlacementParameter* const placement = param.mutable_placement();
  const std::string strategy = placement->strategy();
  placement->set_strategy("liveness");
  placement->clear_device_memory();
  placement->set_deterministic(true);
  const std::unique_ptr<Solver<float>> solver(caffe::SolverRegistry<float>::CreateSolver(param));
  ApplyMachineFlags(solver->mutable_placement_extra());
  if (const layrub::Status placed = solver->Place(); !placed.ok()) return placed;
  caffe::PlacementOptions options = solver->WantedPlacement().value();
  options.strategy = strategy;
  const layrub::Result<caffe::SolverGraphs> graphs = solver->MemoryGraphs(options);
  if (!graphs.ok()) return graphs.status();
  const int64_t floor = LeastBytes(*solver, SmallestGraph(graphs.value(), options));
  const int64_t overhead = caffe::Caffe::mode() == caffe::Caffe::GPU
                               ? caffe::Caffe::device().Usage().overhead_bytes()
                               : 0;
  // The bytes of a plan are a multiple of the alignment.
  return layrub::Aligned(static_cast<int64_t>(std::ceil(factor * static_cast<double>(floor)))) +
         overhead;
}

/// Trains with and without the plan, and prints whether there is a difference. The line begins with
/// `name`, and is flushed unless that is empty.
int Verify(const caffe::SolverParameter& param, const std::string& snapshot,
           const std::string& name) {
  caffe::PlacementOptions options;
  ApplyMachineFlags(&options);
  const auto difference = caffe::VerifyPlacement(param, FLAGS_verify_placement, snapshot,
                                                 options.machine, options.optimizations);
  if (!difference.ok())
    return ExitCode({difference.status().code, name + difference.status().message});
  if (!difference.value().empty()) {
    std::cout << name << "Placement differs: " << difference.value() << "\n";
  } else {
    std::cout << name << "Placement verified: " << FLAGS_verify_placement
              << " iterations bit-equal\n";
  }
  if (!name.empty()) std::cout.flush();
  return difference.value().empty() ? kSuccess : kFailure;
}

/// An item of the list --placement: STRATEGY or STRATEGY:FACTOR.
struct WantedPlacement {
  std::string item, strategy;
  double factor = 0;  ///< times the least memory; 0: the usual budget
};

/// Ends the program, naming the item, if it is malformed.
WantedPlacement ParsePlacement(const std::string& item) {
  const size_t colon = item.find(':');
  WantedPlacement wanted{item, item.substr(0, colon)};
  if (const layrub::Status known = layrub::CheckStrategy(wanted.strategy); !known.ok())
    Fail("--placement=" + item + ": " + known.message);
  if (colon == std::string::npos) return wanted;
  const char* const end = item.data() + item.size();
  const auto read = std::from_chars(item.data() + colon + 1, end, wanted.factor);
  if (read.ec != std::errc() || read.ptr != end || !(wanted.factor >= 1 && wanted.factor < 1e6)) {
    Fail("--placement=" + item +
         ": give a number of at least 1 after the colon, by which the least memory is "
         "multiplied.");
  }
  return wanted;
}

}  // namespace

int VerifyPlacements(caffe::SolverParameter param, const std::string& snapshot) {
  param.clear_snapshot();  // nothing is written
  param.set_snapshot_after_train(false);
  const std::vector<std::string> items = SplitList(FLAGS_placement);
  if (items.size() < 2 && FLAGS_placement.find(':') == std::string::npos)
    return Verify(param, snapshot, "");
  std::vector<WantedPlacement> all;  // all are parsed before any of them trains
  for (const std::string& item : items) all.push_back(ParsePlacement(item));
  const std::string budget = param.placement().device_memory();
  int code = kSuccess;
  for (const WantedPlacement& wanted : all) {
    param.mutable_placement()->set_strategy(wanted.strategy);
    param.mutable_placement()->set_device_memory(budget);
    if (budget.empty()) param.mutable_placement()->clear_device_memory();
    if (wanted.factor > 0) {
      const layrub::Result<int64_t> bytes = BudgetTimesFloor(param, wanted.factor);
      if (!bytes.ok()) {
        code = std::max(
            code, ExitCode({bytes.status().code, wanted.item + ": " + bytes.status().message}));
        continue;
      }
      param.mutable_placement()->set_device_memory(std::to_string(bytes.value()));
    }
    code = std::max(code, Verify(param, snapshot, wanted.item + ": "));
  }
  return code;
}

}  // namespace layrub_tool
