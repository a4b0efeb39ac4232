#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "layrub/placement/cost/scratch.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/segments.hpp"
#include "layrub/placement/policies/tensor_cache.hpp"
#include "layrub/placement/policies/trial.hpp"

namespace layrub::placement::policies {
namespace {

/// What forwards write, and somebody else uses.
std::vector<bool> ForwardValues(const Graph& graph, const UseLists& uses) {
  std::vector<bool> values(graph.tensors.size());
  const OpId first_backward = FirstOp(graph, Pass::kBackward);
  for (size_t t = 0; t < values.size(); ++t) {
    values[t] = uses[t].size() > 1 && uses[t].front().run < first_backward;
  }
  return values;
}

/// By tensor, whether it is the output of a checkpoint, or what later operations have made of that
/// in place.
std::vector<bool> CheckpointValues(const Graph& graph, const std::vector<Run>& runs) {
  std::vector<bool> values(graph.tensors.size());
  std::vector<bool> blobs;
  const std::vector<bool> checkpoints = Checkpoints(graph, runs);
  for (const Run& run : runs) {
    for (const TensorId t : FormOf(graph, run).writes) {
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
  Decision decision = InSmallestForms(graph);
  UseLists uses = FindUses(graph, decision.runs);
  std::vector<bool> movable = ForwardValues(graph, uses);
  const std::vector<bool> checkpoints = CheckpointValues(graph, decision.runs);
  for (size_t t = 0; t < movable.size(); ++t) movable[t] = movable[t] && checkpoints[t];
  RunInPlace(graph, uses, InPlace::kSameRole, &decision);
  return TensorCache(graph, movable, std::move(uses), std::move(decision));
}

/// Segments are computed again; what is not dropped may move.
TensorCache MoveAndRecompute(const Graph& graph) {
  Decision decision = InSmallestForms(graph);
  auto [dropped, uses] = RecomputeSegments(graph, &decision);
  std::vector<bool> movable = ForwardValues(graph, uses);
  for (size_t t = 0; t < movable.size(); ++t) movable[t] = movable[t] && !dropped[t];
  RunInPlace(graph, uses, InPlace::kSameRole, &decision);
  return TensorCache(graph, movable, std::move(uses), std::move(decision));
}

/// A rung that fits with an empty cache and the smallest workspaces gets as much cache as the
/// budget holds, and for its workspaces what that leaves. Packing leaves gaps: where a plan misses
/// the budget, less is tried, in growing steps.
void UseWhatIsLeft(const Graph& graph, const Machine& machine, const TensorCache& rung,
                   const Budget& budget, Trial* trial) {
  constexpr int kTries = 5;
  constexpr int64_t kSmallestStep = 200;  // as a part of the capacity
  int64_t capacity = DeviceBytes(budget);
  for (int i = 0; i < kTries; ++i) {
    Decision decision = rung.Within(capacity);
    cost::TakeFastestScratch(graph, machine, capacity, &decision);
    if (trial->Fits(std::move(decision))) return;
    capacity -= std::max(trial->device_excess(), capacity / kSmallestStep) << i;
    if (capacity <= 0) return;
  }
}

}  // namespace

// The first rung of this ladder that fits: liveness analysis; the outputs of checkpoints in a cache
// that writes to the host what was used least recently when the device is full, and only then; and
// cheap operations between checkpoints computed again. Workspaces are the fastest that the bytes
// left at their operation hold. Whether a rung fits is asked with nothing cached, so that the
// smallest budget is the least of plans that no budget changes. Source: Wang et al.,
// "SuperNeurons: Dynamic GPU Memory Management for Training Deep Neural Networks" (PPoPP 2018).
Result<Decision> SuperNeurons(const Graph& graph, const Machine& machine, const Budget& budget) {
  const Result<Decision> liveness = Liveness(graph, machine, budget);
  if (!liveness.ok()) return liveness;
  Trial trial(graph, budget);
  Decision fastest = liveness.value();
  cost::TakeFastestScratch(graph, machine, cost::kNoLimit, &fastest);
  if (trial.Fits(std::move(fastest))) return trial.Best();

  for (const auto make : {MoveCheckpoints, MoveAndRecompute}) {
    const TensorCache rung = make(graph);
    trial.Fits(rung.Within(0));
    if (trial.device_excess() > 0) continue;
    UseWhatIsLeft(graph, machine, rung, budget, &trial);
    if (trial.found()) return trial.Best();
  }
  return trial.Best();
}

}  // namespace layrub::placement::policies
