#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/segments.hpp"
#include "layrub/placement/policies/tensor_cache.hpp"
#include "layrub/placement/policies/trial.hpp"

namespace layrub::placement::policies {
namespace {

/// By tensor, whether a forward writes it first and another operation uses it.
std::vector<bool> ForwardValues(const Graph& graph, const UseLists& uses) {
  std::vector<bool> values(graph.tensors.size());
  const OpId first_backward = FirstOp(graph, Pass::kBackward);
  for (size_t t = 0; t < values.size(); ++t) {
    values[t] = uses[t].size() > 1 && uses[t].front().run < first_backward;
  }
  return values;
}

/// By tensor, whether it is the output of a checkpoint, or a later version of that, written in
/// place.
std::vector<bool> CheckpointValues(const Graph& graph, const std::vector<Run>& runs) {
  std::vector<bool> values(graph.tensors.size());
  std::vector<bool> blobs;
  const std::vector<bool> checkpoints = Checkpoints(graph, runs);
  for (const Run& run : runs) {
    for (const TensorId t : VariantOf(graph, run).writes) {
      const auto blob = static_cast<size_t>(graph.tensors[t].blob + 1);
      if (blobs.size() <= blob) blobs.resize(blob + 1);
      if (checkpoints[run.op] && blob > 0) blobs[blob] = true;
      values[t] = values[t] || checkpoints[run.op] || blobs[blob];
    }
  }
  return values;
}

/// Liveness analysis, and checkpoints that may move.
TensorCache MoveCheckpoints(const Graph& graph) {
  Program program = InSmallestVariants(graph);
  UseLists uses = FindUses(graph, program.runs);
  std::vector<bool> movable = ForwardValues(graph, uses);
  const std::vector<bool> checkpoints = CheckpointValues(graph, program.runs);
  for (size_t t = 0; t < movable.size(); ++t) movable[t] = movable[t] && checkpoints[t];
  RunInPlace(graph, uses, InPlace::kSameRole, &program);
  return TensorCache(graph, movable, std::move(uses), std::move(program));
}

/// Segments are recomputed, and what is not dropped may move.
TensorCache MoveAndRecompute(const Graph& graph) {
  Program program = InSmallestVariants(graph);
  auto [dropped, uses] = RecomputeSegments(graph, &program);
  std::vector<bool> movable = ForwardValues(graph, uses);
  for (size_t t = 0; t < movable.size(); ++t) movable[t] = movable[t] && !dropped[t];
  RunInPlace(graph, uses, InPlace::kSameRole, &program);
  return TensorCache(graph, movable, std::move(uses), std::move(program));
}

/// Tries `rung`, which fits with an empty cache and the smallest workspaces, with as much cache as
/// the budget holds and the fastest workspaces for which that leaves bytes. Packing leaves holes,
/// so if a plan exceeds the budget, tries less, in growing steps.
void FillBudget(const Graph& graph, const Machine& machine, const TensorCache& rung,
                const Budget& budget, Trial* trial) {
  constexpr int kTries = 5;
  constexpr int64_t kSmallestStep = 200;  // the capacity divided by this
  int64_t capacity = DeviceBytes(budget);
  for (int i = 0; i < kTries; ++i) {
    Program program = rung.Within(capacity);
    cost::TakeFastestAlgorithms(graph, machine, capacity, &program);
    if (trial->Fits(std::move(program))) return;
    capacity -= std::max(trial->device_excess(), capacity / kSmallestStep) << i;
    if (capacity <= 0) return;
  }
}

}  // namespace

// Takes the first of these three steps ("rungs") that fits: liveness analysis; a cache for the
// outputs of checkpoints, which offloads the least recently used ones only if the device is full;
// and recomputation of the cheap operations between checkpoints. Each operation gets the fastest
// workspace that fits into the bytes left to it. Whether a rung fits is decided with an empty
// cache, so that the smallest budget does not depend on the budget given. Source: Wang et al.,
// "SuperNeurons: Dynamic GPU Memory Management for Training Deep Neural Networks" (PPoPP 2018).
Result<Program> SuperNeurons(const Graph& graph, const Machine& machine, const Budget& budget) {
  const Result<Program> liveness = Liveness(graph, machine, budget);
  if (!liveness.ok()) return liveness;
  Trial trial(graph, budget);
  Program fastest = liveness.value();
  cost::TakeFastestAlgorithms(graph, machine, cost::kNoLimit, &fastest);
  if (trial.Fits(std::move(fastest))) return trial.Best();

  for (const auto make : {MoveCheckpoints, MoveAndRecompute}) {
    const TensorCache rung = make(graph);
    trial.Fits(rung.Within(0));
    if (trial.device_excess() > 0) continue;
    FillBudget(graph, machine, rung, budget, &trial);
    if (trial.found()) return trial.Best();
  }
  return trial.Best();
}

}  // namespace layrub::placement::policies
