#include "layrub/runtime/test/chain.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace layrub::testing {
namespace {

Variant Reading(std::vector<TensorId> reads, std::vector<TensorId> writes,
                std::vector<AliasPair> may_alias = {}) {
  Variant variant;
  variant.name = "f";
  variant.reads = std::move(reads);
  variant.writes = std::move(writes);
  variant.may_alias = std::move(may_alias);
  return variant;
}

}  // namespace

Graph Chain() {
  Graph graph;
  graph.name = "chain";
  const auto tensor = [&](const char* name, Role role, Life life) {
    graph.tensors.push_back({name, kBytes, role, life, false, kNone});
  };
  tensor("input", Role::kUser, Life::kState);
  tensor("weight", Role::kParameter, Life::kState);
  for (const char* name : {"a", "b", "c"}) tensor(name, Role::kActivation, Life::kIteration);
  for (const char* name : {"dc", "db", "da"})
    tensor(name, Role::kActivationGradient, Life::kIteration);
  const auto op = [&](const char* name, Pass pass, OpKind kind, Variant variant) {
    graph.ops.push_back({name, pass, kind, false, {std::move(variant)}});
  };
  op("a/forward", Pass::kForward, OpKind::kCompute, Reading({kInput, kWeight}, {kA}));
  op("b/forward", Pass::kForward, OpKind::kCompute, Reading({kA}, {kB}));
  op("c/forward", Pass::kForward, OpKind::kCompute, Reading({kB}, {kC}, {{kC, kB}}));
  op("dc/fill", Pass::kBackward, OpKind::kFill, Reading({}, {kDiffC}));
  op("c/backward", Pass::kBackward, OpKind::kCompute, Reading({kDiffC, kC}, {kDiffB}));
  op("b/backward", Pass::kBackward, OpKind::kCompute,
     Reading({kDiffB, kA}, {kDiffA}, {{kDiffA, kDiffB}}));
  op("update", Pass::kUpdate, OpKind::kUpdate, Reading({kWeight, kDiffA}, {kWeight}));
  return graph;
}

Graph FedChain() {
  Graph graph = Chain();
  graph.name = "fed_chain";
  const auto feed = [&](const char* name, const char* reader) {
    const auto id = static_cast<TensorId>(graph.tensors.size());
    graph.tensors.push_back({name, kBytes, Role::kActivation, Life::kIteration, false, kNone});
    const auto op = std::find_if(graph.ops.begin(), graph.ops.end(),
                                 [&](const Op& each) { return each.name == reader; });
    op->variants[0].reads.push_back(id);
    graph.ops.insert(
        op,
        {std::string(name) + "/feed", Pass::kForward, OpKind::kFeed, false, {Reading({}, {id})}});
  };
  feed("z", "c/forward");
  feed("y", "c/forward");
  feed("x", "a/forward");
  return graph;
}

Step Alloc(TensorId tensor, int slot, Tier tier) {
  Step step;
  step.kind = StepKind::kAlloc;
  step.tier = tier;
  step.tensor = tensor;
  step.offset = slot * kBytes;
  step.end = kBytes;
  return step;
}

Step Free(TensorId tensor, Tier tier) {
  Step step;
  step.kind = StepKind::kFree;
  step.tier = tier;
  step.tensor = tensor;
  step.end = kBytes;
  return step;
}

Step Alias(TensorId tensor, TensorId on) {
  Step step;
  step.kind = StepKind::kAlias;
  step.tensor = tensor;
  step.on = on;
  return step;
}

Step Offload(TensorId tensor) {
  Step step;
  step.kind = StepKind::kCopy;
  step.lane = Lane::kSave;
  step.tier = Tier::kHost;
  step.tensor = tensor;
  step.end = kBytes;
  return step;
}

Step Prefetch(TensorId tensor) {
  Step step = Offload(tensor);
  step.lane = Lane::kLoad;
  std::swap(step.from, step.tier);
  return step;
}

Step Wait(Lane lane, int32_t target) {
  Step step;
  step.kind = StepKind::kWait;
  step.lane = lane;
  step.step = target;
  return step;
}

Step Compute(OpId op) {
  Step step;
  step.kind = StepKind::kRun;
  step.op = op;
  return step;
}

Plan ChainPlan() {
  Plan plan;
  plan.strategy = "by hand";
  plan.device_bytes = 5 * kBytes;
  plan.host_bytes = kBytes;
  plan.readable = {kC};
  plan.homes = {{kInput, Tier::kDevice, 0}, {kWeight, Tier::kDevice, kBytes}};
  plan.steps = {
      Alloc(kA, 2),               // 0
      Compute(kForwardA),         // 1
      Alloc(kB, 3),               // 2
      Compute(kForwardB),         // 3
      Alloc(kA, 0, Tier::kHost),  // 4
      Offload(kA),                // 5
      Alias(kC, kB),              // 6
      Compute(kForwardC),         // 7
      Free(kB),                   // 8
      Free(kA),                   // 9
      Wait(Lane::kCompute, 5),    // 10: backward
      Alloc(kDiffC, 2),           // 11
      Compute(kFillC),            // 12
      Alloc(kDiffB, 4),           // 13
      Compute(kBackwardC),        // 14
      Free(kDiffC),               // 15
      Alloc(kA, 2),               // 16
      Wait(Lane::kLoad, 14),      // 17
      Prefetch(kA),               // 18
      Free(kA, Tier::kHost),      // 19
      Wait(Lane::kCompute, 18),   // 20
      Alias(kDiffA, kDiffB),      // 21
      Compute(kBackwardB),        // 22
      Free(kDiffB),               // 23
      Free(kA),                   // 24
      Compute(kUpdateWeight),     // 25: update
      Free(kDiffA),               // 26
  };
  plan.pass_end = {10, 25, 27};
  return plan;
}

}  // namespace layrub::testing
