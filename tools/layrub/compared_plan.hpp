#ifndef TOOLS_LAYRUB_COMPARED_PLAN_HPP_
#define TOOLS_LAYRUB_COMPARED_PLAN_HPP_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "layrub/strategy_plans.hpp"

namespace layrub_tool {

/// The plan of a strategy within a budget. `seconds` is one iteration by the cost model.
struct ComparedPlan {
  std::string strategy;
  std::optional<int64_t> budget_bytes;  ///< none: there is no limit
  bool fits = false;
  // If it fits:
  int64_t device_bytes = 0;  ///< of the train net and the test nets
  int64_t host_bytes = 0;
  int64_t spill_bytes = 0;
  double seconds = 0;
  int64_t traffic_bytes = 0;   ///< copied off the device and back
  int64_t received_bytes = 0;  ///< from other devices, if the net is divided among several
  int recomputed_ops = 0;      ///< operations that run again
  /// If it does not fit: the smallest budget known to suffice; none if no such budget is known.
  std::optional<int64_t> smallest_bytes;
};

/// The value of `budget_bytes` for a budget of `bytes`.
std::optional<int64_t> LimitOf(int64_t bytes);

/// Fills in all but `strategy` and `budget_bytes`, which say what to plan. `graphs` and `options`
/// are those of `strategies`. If strategies->Smallest of the strategy is known already, several
/// threads may call this.
void MakeComparedPlan(const caffe::SolverGraphs& graphs, const caffe::PlacementOptions& options,
                      StrategyPlans* strategies, ComparedPlan* made);

// Tables.

/// Writes a row: the first cell is left-aligned, the last follows the others, which are
/// right-aligned. `widths` are those of all cells but the last.
void WriteRow(std::ostream& out, const std::vector<int>& widths,
              const std::vector<std::string>& cells);

/// "-" for no bytes.
std::string BytesOrDash(int64_t bytes);
/// "1 GiB + 3 GiB": host memory and spill file.
std::string OffDevice(const ComparedPlan& plan);
/// "fits", or what is missing.
std::string Verdict(const ComparedPlan& plan);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_COMPARED_PLAN_HPP_
