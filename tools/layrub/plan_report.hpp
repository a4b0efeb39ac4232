#ifndef TOOLS_LAYRUB_PLAN_REPORT_HPP_
#define TOOLS_LAYRUB_PLAN_REPORT_HPP_

#include <optional>
#include <string>
#include <vector>

#include "caffe/solver_plans.hpp"
#include "layrub/base/status.hpp"
#include "layrub/placement/cost/layer_costs.hpp"

namespace layrub_tool {

struct PartitionedNets;

/// Another strategy, in the same budget.
struct Alternative {
  std::string strategy;
  /// If it does not fit: the smallest budget in which it does, test nets included; none if the
  /// limit of host memory is too small for it.
  std::optional<int64_t> smallest_bytes;
  std::optional<double> seconds;  ///< predicted within the budget; none: it does not fit
};

/// What `layrub plan` reports. Sizes are bytes, times seconds.
struct PlanReport {
  layrub::Status fits;  ///< not ok: why no plan of the strategy fits, and the flag that helps
  caffe::PlacementOptions options;
  caffe::SolverPlans nets;  ///< within the budget, or if there are none, the strategy's plans with
                            ///< the fewest bytes
  layrub::Peak peak;        ///< this and all that follows are of the train net
  std::vector<layrub::LayerCost> layers;
  int64_t moved_bytes = 0;      ///< copied within the device
  int recomputed_ops = 0;       ///< operations that run again
  double recomputed_flops = 0;  ///< of these
  double recomputed_seconds = 0;
  int64_t persistent_bytes = 0;
  int64_t keep_peak_bytes = 0;
  int64_t keep_budget_bytes = 0;  ///< the smallest budget of strategy keep, test nets included
  /// No plan takes less that has weights and history on the device and runs layers whole.
  int64_t floor_bytes = 0;
  int64_t state_floor_bytes = 0;  ///< no plan of any strategy takes less
  double seconds = 0;             ///< predicted
  double stalled = 0;             ///< of these, waiting for copies
  double keep_seconds = 0;
  double floor_seconds = 0;  ///< TimeFloorOf the budget
  /// The smallest budget in which the strategy is known to fit. None: not looked for, or the
  /// strategy's plan with the fewest device bytes exceeds the limit of host memory; for a strategy
  /// that searches, so do the plans of the strategies that it tries.
  std::optional<int64_t> smallest_bytes;
  bool smallest_not_searched =
      false;                    ///< the plan fits, and the smallest budget was not looked for
  bool below_smallest = false;  ///< the plan takes less than `smallest_bytes` did at first
  std::vector<Alternative> alternatives;  ///< none for graphs that take long to plan
  std::vector<std::string> readable;      ///< blobs whose data can be read after a pass
  int blobs = 0;                          ///< the number of all blobs
  /// The largest batch that fits into the budget; 0: not even one item fits. None: there is no
  /// budget, it was not looked for, or the net allows no other batch.
  std::optional<int> largest_batch;
  std::string why_gradients_stay;   ///< SolverGraphs::why_gradients_stay
  bool divided = false;             ///< the net is one device's part: no batch is looked for
  bool batch_not_searched = false;  ///< there is a budget, but the largest batch was not looked
                                    ///< for, or not for long enough

  const layrub::Plan& plan() const { return *nets.train.plan; }
  bool limited() const;  ///< there is a device budget
};

/// Whether the graph is small enough to look for the largest batch without --largest_batch. That
/// takes a few plans of the strategy of `options`.
bool AffordsBatches(const layrub::Graph& graph, const caffe::PlacementOptions& options);

/// Returns a lower bound on the seconds of any plan by `options` within `budget` bytes: the least
/// layrub::TimeFloor of the graphs of the train net.
double TimeFloorOf(const caffe::SolverGraphs& graphs, const caffe::PlacementOptions& options,
                   int64_t budget);

/// Makes the report, without the largest batch. `ask_smallest`: look for the smallest budget even
/// if that takes another search of some seconds. Returns kInvalid if the strategy is unknown or a
/// graph is malformed. A budget that is too small is not an error but part of the report.
layrub::Result<PlanReport> MakeReport(const caffe::SolverGraphs& graphs,
                                      const caffe::PlacementOptions& options, bool ask_smallest);

/// The verdict in one sentence: whether the plan fits.
std::string VerdictText(const PlanReport& report);
/// For programs: the keys are documented in docs/will-it-fit.md. `divided`: how the net was divided
/// among devices, or null.
std::string ToJson(const layrub::Graph& graph, const PlanReport& report,
                   const PartitionedNets* divided = nullptr);
/// For people: one screen, the verdict first. With `all_layers`, the table has a row for every
/// layer and may be longer.
std::string ToText(const layrub::Graph& graph, const PlanReport& report, bool all_layers);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PLAN_REPORT_HPP_
