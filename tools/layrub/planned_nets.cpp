#include "layrub/planned_nets.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>

#include "caffe/caffe.hpp"
#include "caffe/solver_nets.hpp"
#include "caffe/util/shape_only.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"

namespace layrub_tool {

using caffe::NetParameter;
using caffe::PlacementOptions;
using caffe::SolverGraphs;
using caffe::SolverParameter;

namespace {

/// The largest batch of a strategy that searches is found to such a part, unless it was asked for:
/// each step takes a search.
constexpr int kSearchedPart = 100;
/// Nobody who has not asked for the largest batch waits for it longer than so many seconds.
constexpr unsigned kPatience = 60;

/// The solver that the flags name; with --model, SGD on that model.
SolverParameter WantedSolver() {
  SolverParameter solver;
  if (FLAGS_solver.empty() == FLAGS_model.empty()) {
    Fail(
        "'plan' needs either --model=FILE or --solver=FILE; 'layrub plan --help' shows an "
        "example.");
  }
  if (FLAGS_solver.empty()) {
    solver.set_net(FLAGS_model);
  } else {
    caffe::ReadSolverParamsFromTextFileOrDie(FLAGS_solver, &solver);
  }
  ApplyDataFlags(&solver);
  return solver;
}

NetParameter ShapesOf(const NetParameter& net) {
  NetParameter filtered;
  caffe::Net<float>::FilterNet(net, &filtered);
  return caffe::WithoutSources(filtered, DataShapeFlag());
}

/// The largest number from 0 to `limit` that fits, where what fits includes all that is smaller;
/// or one that is smaller by less than a part of 1 / `part` of it (0: the largest).
int LargestThatFits(int limit, int part, const std::function<bool(int)>& fits) {
  int64_t below = 0, above = 1;
  while (above <= limit && fits(static_cast<int>(above))) {
    below = above;
    above *= 2;
  }
  above = std::min<int64_t>(above, int64_t{limit} + 1);
  while (above - below > (part > 0 ? std::max<int64_t>(below / part, 1) : 1)) {
    const int64_t middle = (below + above) / 2;
    (fits(static_cast<int>(middle)) ? below : above) = middle;
  }
  return static_cast<int>(below);
}

SolverGraphs GraphsWithBatch(int batch, const PlacementOptions& options) {
  FLAGS_batch = batch;
  return BuildGraphs(NetsOfFlags(), options).value();
}

bool HostLimited(const PlacementOptions& options) {
  return options.budget.host != layrub::Budget().host;
}

/// By the plan that takes the fewest device bytes; where another one may take less of the host, by
/// the one within the budget.
bool FitsByItself(const SolverGraphs& graphs, const PlacementOptions& options) {
  if (const auto smallest = SmallestPlans(graphs, options);
      smallest.ok() && Within(options.budget, smallest.value()))
    return true;
  return HostLimited(options) && layrub::UsesBudget(options.strategy) &&
         PlanNets(graphs, options).ok();
}

/// A strategy that searches among plans tries what all others do: it is asked only where none of
/// them fits and the bound does not rule it out.
bool Fits(const SolverGraphs& graphs, const PlacementOptions& options) {
  if (layrub::FloorBytes(graphs.train) > options.budget.device) return false;
  if (layrub::UsesCosts(options.strategy)) {
    PlacementOptions others = options;
    for (const std::string& strategy : layrub::StrategyNames()) {
      others.strategy = strategy;
      if (!layrub::UsesCosts(strategy) && FitsByItself(graphs, others)) return true;
    }
  }
  return FitsByItself(graphs, options);
}

/// Items of a batch for which every blob still has a size that the nets can have.
int BatchLimit(const SolverGraphs& one_item) {
  int64_t largest = 1;
  const auto look = [&largest](const layrub::Graph& graph) {
    for (const layrub::Tensor& tensor : graph.tensors) {
      const bool of_a_batch = tensor.blob != layrub::kNone && !tensor.persistent;
      if (of_a_batch) largest = std::max(largest, tensor.bytes / int64_t{sizeof(float)});
    }
  };
  look(one_item.train);
  for (const layrub::Graph& test : one_item.tests) look(test);
  return static_cast<int>(std::numeric_limits<int>::max() / largest);
}

/// A strategy that searches may find a plan when it knows its budget, and not without.
bool FitsKnowingTheBudget(const SolverGraphs& graphs, const PlacementOptions& options) {
  return layrub::UsesCosts(options.strategy) && !HostLimited(options) &&
         layrub::FloorBytes(graphs.train) <= options.budget.device &&
         PlanNets(graphs, options).ok();
}

int TryBatches(const PlacementOptions& options, bool try_harder) {
  const int limit = BatchLimit(GraphsWithBatch(1, options));
  const int part = layrub::UsesCosts(options.strategy) && !try_harder ? kSearchedPart : 0;
  int batch = LargestThatFits(
      limit, part, [&](int items) { return Fits(GraphsWithBatch(items, options), options); });
  while (try_harder && batch < limit &&
         FitsKnowingTheBudget(GraphsWithBatch(batch + 1, options), options))
    ++batch;
  return batch;
}

/// What `find` returns when it runs in a child process of its own, silently, for `patience` seconds
/// at most (0: as long as it takes); none when that ends in any other way than by returning.
LargestBatch InChild(unsigned patience, const std::function<int()>& find) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    alarm(patience);
    if (!std::freopen("/dev/null", "w", stderr)) _exit(kFailure);
    const int found = find();
    const bool written = write(ends[1], &found, sizeof(found)) == sizeof(found);
    _exit(written ? kSuccess : kFailure);
  }
  close(ends[1]);
  int found = 0;
  const bool told = child > 0 && read(ends[0], &found, sizeof(found)) == sizeof(found);
  close(ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  if (told) return {found};
  return {{}, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM};
}

}  // namespace

WantedNets NetsOfFlags() {
  const caffe::Phase phase = PhaseFlag(caffe::TRAIN);
  SolverParameter solver = WantedSolver();
  WantedNets wanted;
  wanted.solver_type = solver.type();
  ApplyStateFlags(solver.mutable_train_state());
  std::vector<caffe::SolverNet> tests;
  if (!FLAGS_solver.empty()) tests = caffe::TestNetsOf(solver);
  if (phase == caffe::TRAIN) {
    wanted.net = caffe::TrainNetOf(solver).param;
    for (const caffe::SolverNet& test : tests) wanted.tests.push_back(test.param);
  } else if (FLAGS_solver.empty()) {
    solver.clear_train_state();
    wanted.net = caffe::TrainNetOf(solver).param;
    wanted.net.mutable_state()->set_phase(phase);
    ApplyStateFlags(wanted.net.mutable_state());
  } else {
    if (tests.empty()) Fail(FLAGS_solver + " has no test net.");
    wanted.net = tests.front().param;
  }
  wanted.placement = wanted.net.placement();
  wanted.placement.MergeFrom(solver.placement());
  ApplyPlacementFlags(&wanted.placement);
  return wanted;
}

layrub::Result<SolverGraphs> BuildGraphs(const WantedNets& nets, const PlacementOptions& options) {
  const caffe::ShapeOnlyScope shapes_only;
  const NetParameter shapes = ShapesOf(nets.net);
  if (shapes.state().phase() == caffe::TEST) {
    SolverGraphs graphs{caffe::Net<float>(shapes).MemoryGraph(-1, options.keep), {}};
    if (const layrub::Status status = MeetOptions(options, &graphs); !status.ok()) return status;
    return graphs;
  }
  // A solver of the wanted type knows how many history tensors a parameter has.
  SolverParameter param;
  param.set_type(nets.solver_type);
  *param.mutable_train_net_param() = shapes;
  *param.mutable_train_state() = shapes.state();
  for (const NetParameter& test : nets.tests) {
    *param.add_test_net_param() = ShapesOf(test);
    param.add_test_iter(1);
    param.set_test_interval(1);
  }
  const std::unique_ptr<caffe::Solver<float>> solver(
      caffe::SolverRegistry<float>::CreateSolver(param));
  return solver->MemoryGraphs(options);
}

bool Within(const layrub::Budget& budget, const caffe::SolverPlans& plans) {
  return plans.device_bytes <= budget.device && plans.train.plan->host_bytes <= budget.host;
}

LargestBatch FindLargestBatch(const PlacementOptions& options, bool try_harder) {
  return InChild(FLAGS_largest_batch ? 0 : kPatience,
                 [&] { return TryBatches(options, try_harder); });
}

}  // namespace layrub_tool
