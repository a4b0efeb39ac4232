#ifndef LAYRUB_PLACEMENT_TEST_PIECES_HPP_
#define LAYRUB_PLACEMENT_TEST_PIECES_HPP_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/schedule/waits.hpp"

namespace layrub::testing {

using namespace placement;  // NOLINT(google-build-using-namespace): tests look inside

/// The proved `plan`, in which tensors of more than `piece_bytes`, a multiple of kAlignment, that
/// were copied whole between host and device are copied in pieces of so many. Waits are made anew.
inline Plan InPieces(const Graph& graph, Plan plan, int64_t piece_bytes) {
  const std::vector<Step> steps = std::exchange(plan.steps, {});
  size_t pass = 0;
  for (size_t i = 0; i <= steps.size(); ++i) {
    for (; pass < 3 && plan.pass_end[pass] == static_cast<int32_t>(i); ++pass)
      plan.pass_end[pass] = static_cast<int32_t>(plan.steps.size());
    if (i == steps.size() || steps[i].kind == StepKind::kWait) continue;
    const bool copies = steps[i].kind == StepKind::kOffload || steps[i].kind == StepKind::kPrefetch;
    const bool whole = copies && steps[i].bytes == 0;
    const int64_t all = whole ? graph.tensors[steps[i].tensor].bytes : 0;
    if (all <= piece_bytes) plan.steps.push_back(steps[i]);
    for (int64_t begin = 0; piece_bytes < all && begin < all; begin += piece_bytes) {
      Step piece = steps[i];
      piece.offset = begin;
      piece.bytes = std::min(piece_bytes, all - begin);
      plan.steps.push_back(piece);
    }
  }
  schedule::AddWaits(graph, &plan);
  return plan;
}

/// How many steps of `plan` copy a piece of a tensor.
inline int64_t PiecesIn(const Plan& plan) {
  return std::count_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return step.bytes > 0 && (step.kind == StepKind::kOffload || step.kind == StepKind::kPrefetch);
  });
}

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_PIECES_HPP_
