#ifndef LAYRUB_PLACEMENT_TEST_STRATEGY_KINDS_HPP_
#define LAYRUB_PLACEMENT_TEST_STRATEGY_KINDS_HPP_

#include <algorithm>
#include <string>

#include "layrub/graph.hpp"
#include "layrub/plan.hpp"

namespace layrub::testing {

/// Whether the strategy uses the host tier.
inline bool Moves(const std::string& strategy) {
  return strategy == "inter" || strategy == "hybrid" || strategy == "vdnn_all" ||
         strategy == "vdnn_conv";
}

/// Whether the strategy runs forwards again.
inline bool Recomputes(const std::string& strategy) { return strategy == "sqrt"; }

/// Recompute steps of a plan.
inline int Recomputed(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return step.kind == StepKind::kRecompute;
  }));
}

/// Bytes that one iteration copies to the host tier.
inline int64_t BytesOffloaded(const Graph& graph, const Plan& plan) {
  int64_t bytes = 0;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::kOffload) bytes += graph.tensors[step.tensor].bytes;
  }
  return bytes;
}

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_STRATEGY_KINDS_HPP_
