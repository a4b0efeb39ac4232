#ifndef TOOLS_LAYRUB_COMPARISON_HPP_
#define TOOLS_LAYRUB_COMPARISON_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caffe/solver_plans.hpp"
#include "layrub/base/status.hpp"
#include "layrub/compared_plan.hpp"

namespace layrub_tool {

/// No plan of an iteration within `budget_bytes` takes less than `seconds`.
struct FloorPoint {
  int64_t budget_bytes = 0;
  double seconds = 0;
};

/// Plans of all strategies, in the order of layrub::StrategyNames, each in rising budgets.
struct Comparison {
  std::string net;
  std::string machine;
  int64_t floor_bytes = 0;        ///< the least if weights and history stay and layers run whole
  int64_t state_floor_bytes = 0;  ///< no plan takes less
  int64_t keep_bytes = 0;         ///< device bytes of strategy keep, test nets included
  double keep_seconds = 0;
  /// Upper limit of the budgets that are tried if none were asked for; none: no limit.
  std::optional<int64_t> limit_bytes;
  std::vector<ComparedPlan> plans;
  std::vector<FloorPoint> time_floor;  ///< in rising budgets

  bool anything_fits() const;
};

/// Plans every strategy within each of `budgets`. If `budgets` is empty, plans each strategy within
/// its smallest budget and, if the strategy uses its budget, within several more up to the bytes
/// that keep takes, none above the budget of `options`. `net` is the net's name. Shows progress on
/// a terminal. Returns kInvalid if a graph is malformed.
layrub::Result<Comparison> CompareStrategies(const std::string& net,
                                             const caffe::SolverGraphs& graphs,
                                             const caffe::PlacementOptions& options,
                                             const std::vector<int64_t>& budgets);

/// For people: a row for each plan.
std::string ToText(const Comparison& comparison);
/// For programs: the keys are documented in docs/will-it-fit.md.
std::string ToJson(const Comparison& comparison);
/// The picture: predicted time against device memory, with both floors.
std::string ToSvg(const Comparison& comparison);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_COMPARISON_HPP_
