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
  /// Where it does not fit, the smallest budget it can do with, test nets included; none: the host
  /// tier's limit is too small for it.
  std::optional<int64_t> smallest_bytes;
  std::optional<double> seconds;  ///< predicted within the budget; none: it does not fit
};

/// What `layrub plan` has to say. Bytes and seconds.
struct PlanReport {
  layrub::Status fits;  ///< not ok: why no plan of the strategy stays within the budget, with the
                        ///< flag to paste
  caffe::PlacementOptions options;
  caffe::SolverPlans nets;  ///< within the budget, or where that is impossible the plans of the
                            ///< strategy that take the fewest bytes
  layrub::Peak peak;        ///< of the train net, as all that follows
  std::vector<layrub::LayerCost> layers;
  int64_t moved_bytes = 0;      ///< copied within the device
  int recomputed_ops = 0;       ///< operations that run again
  double recomputed_flops = 0;  ///< of these
  double recomputed_seconds = 0;
  int64_t persistent_bytes = 0;
  int64_t keep_peak_bytes = 0;
  int64_t keep_budget_bytes = 0;  ///< the smallest budget of strategy keep, test nets included
  int64_t floor_bytes = 0;        ///< of plans that keep all state on the device
  int64_t state_floor_bytes = 0;  ///< of all plans
  double seconds = 0;             ///< predicted
  double stalled = 0;             ///< of these, waiting for copies
  double keep_seconds = 0;
  double floor_seconds = 0;  ///< layrub::TimeFloor within the budget
  /// The smallest budget that the strategy is known to do with. None: nobody asked, or its plan
  /// that takes the fewest device bytes needs more of the host than it may have; where it searches,
  /// those of the strategies that it tries, too.
  std::optional<int64_t> smallest_bytes;
  bool smallest_unasked = false;  ///< the plan fits, and the smallest budget was not looked for
  bool below_smallest = false;    ///< the plan takes less than those that were made for few bytes
  std::vector<Alternative> alternatives;  ///< none for graphs that take long to plan
  std::vector<std::string> readable;      ///< blobs whose data is there after a pass
  int blobs = 0;                          ///< how many blobs there are
  /// The largest batch that fits into the budget, 0: not even one item. None: there is no budget,
  /// nobody asked, or the net allows no other batch.
  std::optional<int> largest_batch;
  bool divided = false;  ///< the net is that of one of several devices: no batch is looked for
  bool batch_unasked = false;  ///< there is a budget, but the largest batch was not looked for long

  const layrub::Plan& plan() const { return *nets.train.plan; }
  bool limited() const;  ///< there is a device budget
};

/// Whether the graph is small enough for finding the largest batch unasked, which takes a few
/// plans of the strategy within the budget of `options`.
bool AffordsBatches(const layrub::Graph& graph, const caffe::PlacementOptions& options);

/// All but the largest batch. `ask_smallest`: look for the smallest budget even where that takes a
/// second search of seconds. kInvalid when the strategy is not known or the graph is malformed; a
/// budget that is too small is part of the report.
layrub::Result<PlanReport> MakeReport(const caffe::SolverGraphs& graphs,
                                      const caffe::PlacementOptions& options, bool ask_smallest);

/// Whether the plan fits, in a sentence.
std::string VerdictText(const PlanReport& report);
/// For programs: the keys are documented in docs/will-it-fit.md. `divided`: null, or how the net of
/// each device came about.
std::string ToJson(const layrub::Graph& graph, const PlanReport& report,
                   const PartitionedNets* divided = nullptr);
/// For people: one screen, the verdict first; a row for every layer, however many, if `all_layers`.
std::string ToText(const layrub::Graph& graph, const PlanReport& report, bool all_layers);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PLAN_REPORT_HPP_
