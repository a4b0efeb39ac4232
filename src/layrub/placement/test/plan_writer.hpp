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

/// Writes a plan by hand, by name. Each call appends one step and returns its number.
class PlanWriter {
 public:
  PlanWriter(const Graph& graph, int64_t device_bytes, int64_t host_bytes) : graph_(graph) {
    plan.strategy = "hand";
    plan.device_bytes = device_bytes;
    plan.host_bytes = host_bytes;
  }

  void Home(const std::string& tensor, int64_t offset) {
    plan.homes.push_back({Find(tensor), Tier::kDevice, offset});
  }
  int32_t Alloc(const std::string& tensor, int64_t offset, Tier tier = Tier::kDevice) {
    return Append(
        {.kind = StepKind::kAlloc, .tier = tier, .tensor = Find(tensor), .offset = offset});
  }
  int32_t Free(const std::string& tensor, Tier tier = Tier::kDevice) {
    return Append({.kind = StepKind::kFree, .tier = tier, .tensor = Find(tensor)});
  }
  /// Frees all but the first `bytes` of the device range.
  int32_t Keep(const std::string& tensor, int64_t bytes) {
    return Append({.kind = StepKind::kFree, .tensor = Find(tensor), .bytes = bytes});
  }
  int32_t Alias(const std::string& tensor, const std::string& on) {
    return Append({.kind = StepKind::kAlias, .tensor = Find(tensor), .on = Find(on)});
  }
  int32_t Offload(const std::string& tensor, int64_t offset = 0, int64_t bytes = 0) {
    return Copy(StepKind::kOffload, Lane::kSave, tensor, offset, bytes);
  }
  int32_t Prefetch(const std::string& tensor, int64_t offset = 0, int64_t bytes = 0) {
    return Copy(StepKind::kPrefetch, Lane::kLoad, tensor, offset, bytes);
  }
  int32_t Move(const std::string& tensor, int64_t offset, int64_t bytes = 0) {
    return Append(
        {.kind = StepKind::kMove, .tensor = Find(tensor), .offset = offset, .bytes = bytes});
  }
  int32_t Wait(Lane lane, int32_t step) {
    return Append({.kind = StepKind::kWait, .lane = lane, .step = step});
  }
  /// Runs an operation by the step kind that belongs to it.
  int32_t Run(const std::string& name, int32_t form = 0, int32_t scratch = 0) {
    const auto op = std::find_if(graph_.ops.begin(), graph_.ops.end(),
                                 [&](const Op& candidate) { return candidate.name == name; });
    const StepKind kind = op->kind == OpKind::kFill     ? StepKind::kFill
                          : op->kind == OpKind::kUpdate ? StepKind::kUpdate
                          : op->kind == OpKind::kFeed   ? StepKind::kFeed
                                                        : StepKind::kCompute;
    return Append({.kind = kind,
                   .op = static_cast<OpId>(op - graph_.ops.begin()),
                   .form = form,
                   .scratch = scratch});
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
  int32_t Copy(StepKind kind, Lane lane, const std::string& tensor, int64_t offset, int64_t bytes) {
    return Append(
        {.kind = kind, .lane = lane, .tensor = Find(tensor), .offset = offset, .bytes = bytes});
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
  Form& Add(const std::string& name, Pass pass, OpKind kind, std::vector<TensorId> reads,
            std::vector<TensorId> writes, std::vector<AliasPair> may_alias = {}) {
    Form form;
    form.name = "default";
    form.reads = std::move(reads);
    form.writes = std::move(writes);
    form.may_alias = std::move(may_alias);
    graph.ops.push_back({name, pass, kind, false, {form}});
    return graph.ops.back().forms.back();
  }
  Graph graph;
};

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_PLAN_WRITER_HPP_
