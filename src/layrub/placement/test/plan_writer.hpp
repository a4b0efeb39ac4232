#ifndef LAYRUB_PLACEMENT_TEST_PLAN_WRITER_HPP_
#define LAYRUB_PLACEMENT_TEST_PLAN_WRITER_HPP_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::testing {

/// Writes a plan by hand, naming tensors and operations. Each call appends one step and returns its
/// number.
class PlanWriter {
 public:
  PlanWriter(const Graph& graph, int64_t device_bytes, int64_t host_bytes) : graph_(graph) {
    plan.strategy = "hand";
    plan.device_bytes = device_bytes;
    plan.host_bytes = host_bytes;
  }

  void Home(const std::string& tensor, int64_t offset, Tier tier = Tier::kDevice) {
    plan.homes.push_back({Find(tensor), tier, offset});
  }
  /// `begin`: the tensor has the bytes before already.
  int32_t Alloc(const std::string& tensor, int64_t offset, Tier tier = Tier::kDevice,
                int64_t begin = 0) {
    return Append({.kind = StepKind::kAlloc,
                   .tier = tier,
                   .tensor = Find(tensor),
                   .offset = offset,
                   .begin = begin,
                   .end = Bytes(tensor)});
  }
  int32_t Free(const std::string& tensor, Tier tier = Tier::kDevice) {
    return Append(
        {.kind = StepKind::kFree, .tier = tier, .tensor = Find(tensor), .end = Bytes(tensor)});
  }
  /// Frees only bytes [begin, end).
  int32_t Free(const std::string& tensor, int64_t begin, int64_t end, Tier tier = Tier::kDevice) {
    const int32_t step = Free(tensor, tier);
    plan.steps[step].begin = begin;
    plan.steps[step].end = end;
    return step;
  }
  /// Frees all but the first `bytes` of the device range.
  int32_t Keep(const std::string& tensor, int64_t bytes) {
    return Free(tensor, bytes, Bytes(tensor));
  }
  int32_t Alias(const std::string& tensor, const std::string& on) {
    return Append({.kind = StepKind::kAlias, .tensor = Find(tensor), .on = Find(on)});
  }
  /// Copies `bytes` bytes from `begin` on; 0 means all.
  int32_t Offload(const std::string& tensor, int64_t begin = 0, int64_t bytes = 0) {
    return Copy(Lane::kSave, Tier::kDevice, Tier::kHost, tensor, begin, bytes);
  }
  int32_t Prefetch(const std::string& tensor, int64_t begin = 0, int64_t bytes = 0) {
    return Copy(Lane::kLoad, Tier::kHost, Tier::kDevice, tensor, begin, bytes);
  }
  int32_t Move(const std::string& tensor, int64_t offset, int64_t bytes = 0) {
    const int32_t step = Copy(Lane::kCompute, Tier::kDevice, Tier::kDevice, tensor, 0, bytes);
    plan.steps[step].offset = offset;
    return step;
  }
  int32_t Wait(Lane lane, int32_t step) {
    return Append({.kind = StepKind::kWait, .lane = lane, .step = step});
  }
  int32_t Run(const std::string& name, int32_t variant = 0, int32_t algorithm = 0) {
    const auto op = std::find_if(graph_.ops.begin(), graph_.ops.end(),
                                 [&](const Op& candidate) { return candidate.name == name; });
    return Append({.kind = StepKind::kRun,
                   .lane = op->kind == OpKind::kFeed ? Lane::kLoad : Lane::kCompute,
                   .op = static_cast<OpId>(op - graph_.ops.begin()),
                   .variant = variant,
                   .algorithm = algorithm});
  }
  /// The next step is the first of the pass after `pass`.
  void EndPass(Pass pass) {
    for (size_t i = static_cast<size_t>(pass); i < plan.pass_end.size(); ++i) {
      plan.pass_end[i] = static_cast<int32_t>(plan.steps.size());
    }
  }
  void Readable(const std::string& tensor) { plan.readable.push_back(Find(tensor)); }

  TensorId Find(const std::string& name) const {
    const auto tensor =
        std::find_if(graph_.tensors.begin(), graph_.tensors.end(),
                     [&](const Tensor& candidate) { return candidate.name == name; });
    return static_cast<TensorId>(tensor - graph_.tensors.begin());
  }

  Plan plan;

 private:
  int64_t Bytes(const std::string& tensor) const { return graph_.tensors[Find(tensor)].bytes; }
  int32_t Copy(Lane lane, Tier from, Tier to, const std::string& tensor, int64_t begin,
               int64_t bytes) {
    return Append({.kind = StepKind::kCopy,
                   .lane = lane,
                   .tier = to,
                   .from = from,
                   .tensor = Find(tensor),
                   .begin = begin,
                   .end = bytes > 0 ? begin + bytes : Bytes(tensor)});
  }
  int32_t Append(const Step& step) {
    plan.steps.push_back(step);
    return static_cast<int32_t>(plan.steps.size() - 1);
  }

  const Graph& graph_;
};

/// Writes a graph by hand.
struct GraphWriter {
  TensorId Add(const std::string& name, int64_t bytes, Role role, Life life = Life::kIteration,
               bool keep = false) {
    graph.tensors.push_back({name, bytes, role, life, keep, kNone});
    return static_cast<TensorId>(graph.tensors.size() - 1);
  }
  Variant& Add(const std::string& name, Pass pass, OpKind kind, std::vector<TensorId> reads,
               std::vector<TensorId> writes, std::vector<AliasPair> may_alias = {}) {
    Variant variant;
    variant.name = "default";
    variant.reads = std::move(reads);
    variant.writes = std::move(writes);
    variant.may_alias = std::move(may_alias);
    graph.ops.push_back({name, pass, kind, false, {variant}});
    return graph.ops.back().variants.back();
  }
  Graph graph;
};

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_PLAN_WRITER_HPP_
