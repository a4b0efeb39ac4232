#ifndef TOOLS_LAYRUB_PLAN_REPORT_HPP_
#define TOOLS_LAYRUB_PLAN_REPORT_HPP_

#include <string>

#include "caffe/placement.hpp"
#include "layrub/graph.hpp"
#include "layrub/plan.hpp"
#include "layrub/status.hpp"

namespace layrub_tool {

/// What `layrub plan` has to say. Bytes.
struct PlanReport {
  layrub::Status fits;  ///< not ok: why no plan of the strategy stays within the budget, with the
                        ///< flag to paste
  layrub::Budget budget;
  layrub::Plan
      plan;  ///< within the budget, or where that is impossible the strategy's plan without one
  layrub::Peak peak;
  int recomputed_ops = 0;       ///< operations that run again
  double recomputed_flops = 0;  ///< of these
  int64_t persistent_bytes = 0;
  int64_t keep_peak_bytes = 0;
  int64_t floor_bytes = 0;
};

/// kInvalid when the strategy is not known or the graph is malformed; a budget that is too small is
/// part of the report.
layrub::Result<PlanReport> MakeReport(const layrub::Graph& graph,
                                      const caffe::PlacementOptions& options);

/// For programs: the keys are documented in docs/placement.md.
std::string ToJson(const layrub::Graph& graph, const PlanReport& report);
/// For people: one screen, the verdict first.
std::string ToText(const layrub::Graph& graph, const PlanReport& report);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PLAN_REPORT_HPP_
