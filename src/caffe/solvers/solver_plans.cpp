// Plans for the nets of a solver.
#include "caffe/solver_plans.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "caffe/common.hpp"
#include "layrub/base/bytes.hpp"
#include "layrub/placement/cost/timeline.hpp"

namespace caffe {

using layrub::Graph;
using layrub::Plan;
using layrub::Result;
using layrub::Status;

namespace {

using SizedPlans = std::vector<SizedPlan>;

/// Whether the strategy may plan the train net with transient gradients: it keeps everything if the
/// budget allows that, and adapts otherwise.
bool MayUpdateWithinBackward(const SolverGraphs& graphs, const PlacementOptions& options) {
  return graphs.updating && !options.plan && layrub::KeepsWhatFits(options.strategy) &&
         layrub::UsesBudget(options.strategy);
}

/// Whether it does: the budget is too small to keep everything.
bool WantsTransientGradients(const SolverGraphs& graphs, const PlacementOptions& options) {
  if (!MayUpdateWithinBackward(graphs, options)) return false;
  return !layrub::MakePlan(graphs.train, options.machine, options.budget, "keep", options.padding)
              .ok();
}

SizedPlan Sized(const Graph& graph, std::shared_ptr<const Plan> plan) {
  const int64_t resident = layrub::HomeBytes(graph, *plan);
  const int64_t transient = plan->device_bytes - resident;
  return {std::move(plan), resident, transient};
}

Result<SizedPlan> Sized(const Graph& graph, Result<Plan> plan) {
  if (!plan.ok()) return plan.status();
  return Sized(graph, std::make_shared<const Plan>(std::move(plan.value())));
}

Result<SizedPlan> MakeSizedPlan(const Graph& graph, const PlacementOptions& options) {
  if (options.plan) return Sized(graph, options.plan);
  return Sized(graph, layrub::MakePlan(graph, options.machine, options.budget, options.strategy,
                                       options.padding));
}

Result<SizedPlan> PlanWhole(const SolverGraphs& graphs, const PlacementOptions& options) {
  const bool transient = WantsTransientGradients(graphs, options);
  Result<SizedPlan> plan = MakeSizedPlan(transient ? *graphs.updating : graphs.train, options);
  if (plan.ok()) plan.value().transient_gradients = transient;
  return plan;
}

/// The fewest bytes of any plan of `graph`.
int64_t FloorOf(const Graph& graph, const PlacementOptions& options) {
  return options.budget.offload_state ? layrub::StateFloorBytes(graph) : layrub::FloorBytes(graph);
}

/// The sliced net of which a plan can have the fewest bytes, if these are fewer than `bytes`.
/// Otherwise null.
const SlicedGraph* LeastSliced(const SolverGraphs& graphs, const PlacementOptions& options,
                               int64_t bytes) {
  const SlicedGraph* least = nullptr;
  for (const SlicedGraph& sliced : graphs.sliced) {
    if (!MaySlice(options) || FloorOf(sliced.train, options) >= bytes) continue;
    bytes = FloorOf(sliced.train, options);
    least = &sliced;
  }
  return least;
}

Result<SizedPlan> PlanSliced(const SolverGraphs& graphs, const SlicedGraph& sliced,
                             Result<Plan> made) {
  Result<SizedPlan> plan = Sized(sliced.train, std::move(made));
  if (plan.ok()) {
    plan.value().transient_gradients = graphs.updating.has_value();
    plan.value().slicing = sliced.slicing;
  }
  return plan;
}

Result<SizedPlan> PlanSliced(const SolverGraphs& graphs, const SlicedGraph& sliced,
                             const PlacementOptions& options) {
  return PlanSliced(graphs, sliced,
                    layrub::MakePlan(sliced.train, options.machine, options.budget,
                                     options.strategy, options.padding));
}

/// Plans with as few slices as the budget allows, or with the next larger number if that is faster:
/// more slices are more operations, but leave more memory to each. If none fits, the message is
/// that for the number with the fewest bytes.
Result<SizedPlan> PlanSlices(const SolverGraphs& graphs, const PlacementOptions& options,
                             const Result<SizedPlan>& whole) {
  const int64_t bytes = options.budget.device - options.budget.reserved;
  Result<SizedPlan> best = whole;
  for (const SlicedGraph& sliced : graphs.sliced) {
    if (FloorOf(sliced.train, options) > bytes) continue;
    const bool fitted = best.ok();
    const Result<SizedPlan> plan = PlanSliced(graphs, sliced, options);
    const auto seconds = [&](const SizedPlan& of) {
      return layrub::Simulate(graphs.of(of), *of.plan, options.machine).seconds;
    };
    if (plan.ok() && (!fitted || seconds(plan.value()) < seconds(best.value()))) best = plan;
    if (fitted) break;
  }
  if (best.ok()) return best;
  const int64_t floor = FloorOf(SmallestGraph(graphs, options), options);
  const SlicedGraph* const least = LeastSliced(graphs, options, floor);
  return least ? PlanSliced(graphs, *least, options) : whole;
}

Result<SizedPlan> PlanTrain(const SolverGraphs& graphs, const PlacementOptions& options) {
  const Result<SizedPlan> whole = PlanWhole(graphs, options);
  if (whole.status().code != layrub::Code::kDoesNotFit || !MaySlice(options)) return whole;
  return PlanSlices(graphs, options, whole);
}

/// A plan for a net that only runs forward, without a budget.
Result<SizedPlan> PlanTest(const Graph& graph, PlacementOptions options,
                           const std::string& strategy) {
  options.strategy = strategy;
  options.budget = {};
  options.plan.reset();  // that plan is the train net's
  return MakeSizedPlan(graph, options);
}

/// Several solvers sum their gradients at the home of these tensors, and a test net may write
/// parameters there. A GPU can do so only in its own memory, so state must not leave it.
void KeepSharedState(const SolverGraphs& graphs, PlacementOptions* options) {
  const bool shared =
      graphs.feeding_tests.size() < graphs.tests.size() || Caffe::solver_count() > 1;
  if (IsForGpu(*options) && shared) options->budget.offload_state = false;
}

/// Whether parameters of the train net are at home off the device.
bool ParametersLeave(const SolverGraphs& graphs, const SizedPlan& train) {
  const Graph& graph = graphs.of(train);
  const auto& homes = train.plan->homes;
  return std::any_of(homes.begin(), homes.end(), [&](const layrub::Home& home) {
    return home.tier != layrub::Tier::kDevice &&
           graph.tensors[home.tensor].role == layrub::Role::kParameter;
  });
}

/// The plans of the test nets beside that of the train net (null: one that keeps parameters on the
/// device).
Result<SizedPlans> PlanTests(const SolverGraphs& graphs, const PlacementOptions& options,
                             const SizedPlan* train, const std::string& strategy) {
  const bool feeds = train && !graphs.feeding_tests.empty() && ParametersLeave(graphs, *train);
  SizedPlans plans;
  for (const Graph& graph : feeds ? graphs.feeding_tests : graphs.tests) {
    const Result<SizedPlan> plan = PlanTest(graph, options, strategy);
    if (!plan.ok()) return plan.status();
    plans.push_back(plan.value());
    plans.back().feeds_parameters = feeds;
  }
  return plans;
}

/// Replaces plans of test nets by plans in slices that need fewer bytes.
Status SliceTests(const SolverGraphs& graphs, const PlacementOptions& options, SizedPlans* plans) {
  for (size_t i = 0; i < graphs.sliced_tests.size() && MaySlice(options); ++i) {
    SizedPlan& whole = (*plans)[i];
    const std::optional<SlicedTest>& sliced = graphs.sliced_tests[i];
    if (!sliced) continue;
    const Graph& graph = whole.feeds_parameters ? sliced->feeding.value() : sliced->test;
    Result<SizedPlan> plan = PlanTest(graph, options, whole.plan->strategy);
    if (!plan.ok()) return plan.status();
    if (plan.value().transient >= whole.transient) continue;
    plan.value().feeds_parameters = whole.feeds_parameters;
    plan.value().slicing = sliced->slicing;
    whole = plan.value();
  }
  return Status::Ok();
}

/// Device bytes of several nets: if each has its own (apart), and if they share the bytes that hold
/// nothing between passes (together).
struct Total {
  Total(const SizedPlan& train, const SizedPlans& tests) {
    Add(train);
    for (const SizedPlan& test : tests) Add(test);
  }
  void Add(const SizedPlan& plan) {
    resident += plan.resident;
    largest_transient = std::max(largest_transient, plan.transient);
    apart += plan.plan->device_bytes;
  }
  int64_t together() const { return resident + largest_transient; }
  int64_t resident = 0;
  int64_t largest_transient = 0;
  int64_t apart = 0;
};

SolverPlans Combine(const SizedPlan& train, const SizedPlans& tests, int64_t budget) {
  const Total total(train, tests);
  const bool share = total.apart > budget;
  return {train, tests, share, total.largest_transient, share ? total.together() : total.apart};
}

Status TestDoesNotFit(const SolverPlans& plans, const layrub::Budget& budget) {
  const int64_t needed = plans.device_bytes + budget.reserved;
  return Status::DoesNotFit(
      "a test net needs " + layrub::FormatBytes(plans.largest_transient) + " beside the " +
      layrub::FormatBytes(plans.device_bytes - plans.largest_transient) +
      " that training keeps, the budget is " + layrub::FormatBytes(budget.device) +
      "; give --device_memory=" + std::to_string(needed) + " or a smaller batch in the TEST phase");
}

/// Returns `status` of the train net's plan, but with the budget that all nets together need.
Status WhyNot(const SolverGraphs& graphs, PlacementOptions options, const Status& status) {
  if (graphs.tests.empty() || status.code != layrub::Code::kDoesNotFit) return status;
  const Result<SolverPlans> smallest = SmallestPlans(graphs, options);
  if (!smallest.ok()) return smallest.status();
  const SolverPlans& plans = smallest.value();
  if (plans.largest_transient > plans.train.transient &&
      plans.device_bytes > options.budget.device - options.budget.reserved)
    return TestDoesNotFit(plans, options.budget);
  options.budget.reserved += plans.device_bytes - plans.train.plan->device_bytes;
  return PlanTrain(graphs, options).status();
}

/// Appends the part of the budget that is reserved to the message of `status`.
Status WithOthers(Status status, const layrub::Budget& budget) {
  if (status.code == layrub::Code::kDoesNotFit && budget.reserved > 0) {
    status.message += "; " + layrub::FormatBytes(budget.reserved) +
                      " of it are for the context and libraries of the device";
  }
  return status;
}

}  // namespace

Status ApplyOptions(const PlacementOptions& options, SolverGraphs* graphs) {
  Status status = ApplyOptions(options, &graphs->train);
  if (status.ok() && graphs->updating) status = ApplyOptions(options, &*graphs->updating);
  for (SlicedGraph& sliced : graphs->sliced) {
    if (status.ok()) status = ApplyOptions(options, &sliced.train);
  }
  for (std::vector<Graph>* tests : {&graphs->tests, &graphs->feeding_tests}) {
    for (Graph& test : *tests) {
      if (status.ok()) status = ApplyOptions(options, &test);
    }
  }
  for (std::optional<SlicedTest>& sliced : graphs->sliced_tests) {
    if (sliced && status.ok()) status = ApplyOptions(options, &sliced->test);
    if (sliced && sliced->feeding && status.ok()) status = ApplyOptions(options, &*sliced->feeding);
  }
  return status;
}

bool MaySlice(const PlacementOptions& options) {
  return options.may_slice && !options.plan && layrub::KeepsWhatFits(options.strategy) &&
         layrub::UsesBudget(options.strategy);
}

const Graph& SolverGraphs::of(const SizedPlan& plan) const {
  for (const SlicedGraph& one : sliced) {
    if (one.slicing == plan.slicing) return one.train;
  }
  return plan.transient_gradients ? updating.value() : train;
}

const Graph& SmallestGraph(const SolverGraphs& graphs, const PlacementOptions& options) {
  return MayUpdateWithinBackward(graphs, options) ? *graphs.updating : graphs.train;
}

int64_t LeastBytes(const SolverGraphs& graphs, const PlacementOptions& options) {
  PlacementOptions allowed = options;
  KeepSharedState(graphs, &allowed);
  const int64_t floor = FloorOf(SmallestGraph(graphs, options), allowed);
  const SlicedGraph* const sliced = LeastSliced(graphs, allowed, floor);
  return sliced ? FloorOf(sliced->train, allowed) : floor;
}

Result<SolverPlans> PlanNets(const SolverGraphs& graphs, PlacementOptions options) {
  KeepSharedState(graphs, &options);
  Result<SizedPlans> tests = PlanTests(graphs, options, nullptr, "liveness");
  if (!tests.ok()) return tests.status();
  PlacementOptions train_options = options;
  for (const SizedPlan& test : tests.value()) train_options.budget.reserved += test.resident;
  const Result<SizedPlan> train = PlanTrain(graphs, train_options);
  if (!train.ok()) return WithOthers(WhyNot(graphs, options, train.status()), options.budget);
  tests = PlanTests(graphs, options, &train.value(), "liveness");
  if (!tests.ok()) return tests.status();

  const int64_t budget = options.budget.device - options.budget.reserved;
  if (layrub::KeepsWhatFits(options.strategy)) {  // all blobs of all nets readable, as in Caffe
    const Result<SizedPlans> whole = PlanTests(graphs, options, &train.value(), options.strategy);
    if (whole.ok() && Total(train.value(), whole.value()).apart <= budget) tests = whole;
  }
  SolverPlans plans = Combine(train.value(), tests.value(), budget);
  if (plans.device_bytes <= budget) return plans;
  if (Status status = SliceTests(graphs, options, &tests.value()); !status.ok()) return status;
  plans = Combine(train.value(), tests.value(), budget);
  if (plans.device_bytes <= budget) return plans;
  // With more of its state off the device, the train net leaves more bytes to the test nets.
  const Result<SolverPlans> smallest = SmallestPlans(graphs, options);
  if (smallest.ok() && smallest.value().device_bytes <= budget &&
      layrub::FitsOffDevice(*smallest.value().train.plan, options.budget))
    return smallest;
  const bool none_fits = smallest.ok() && smallest.value().device_bytes > budget;
  return WithOthers(TestDoesNotFit(none_fits ? smallest.value() : plans, options.budget),
                    options.budget);
}

Result<SolverPlans> SmallestPlans(const SolverGraphs& graphs, PlacementOptions options) {
  KeepSharedState(graphs, &options);
  options.budget.device = 0;
  options.plan.reset();
  const bool transient = MayUpdateWithinBackward(graphs, options);
  const auto smallest = [&](const Graph& graph) {
    return layrub::MakePlanOfAnySize(graph, options.machine, options.budget, options.strategy,
                                     options.padding);
  };
  const Graph& graph = SmallestGraph(graphs, options);
  Result<SizedPlan> train = Sized(graph, smallest(graph));
  if (!train.ok()) return train.status();
  train.value().transient_gradients = transient;
  const int64_t bytes = train.value().plan->device_bytes;
  if (const SlicedGraph* const least = LeastSliced(graphs, options, bytes)) {
    const Result<SizedPlan> sliced = PlanSliced(graphs, *least, smallest(least->train));
    if (sliced.ok() && sliced.value().plan->device_bytes < bytes) train = sliced;
  }
  Result<SizedPlans> tests = PlanTests(graphs, options, &train.value(), "liveness");
  if (!tests.ok()) return tests.status();
  if (Status status = SliceTests(graphs, options, &tests.value()); !status.ok()) return status;
  return Combine(train.value(), tests.value(), 0);
}

}  // namespace caffe
