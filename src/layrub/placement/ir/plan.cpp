#include "layrub/placement/ir/plan.hpp"

#include <algorithm>

namespace layrub {

bool TouchedByRecomputation(const Graph& graph, const Variant& variant, TensorId tensor) {
  return !graph.tensors[tensor].is_state() ||
         std::find(variant.writes.begin(), variant.writes.end(), tensor) == variant.writes.end();
}

int64_t HomeBytes(const Graph& graph, const Plan& plan) {
  int64_t end = 0;
  for (const Home& home : plan.homes) {
    if (home.tier == Tier::kDevice)
      end = std::max(end, home.offset + Aligned(graph.tensors[home.tensor].bytes));
  }
  return end;
}

int64_t CopiedBytes(const Graph& graph, const Step& step) {
  if (IsOffload(step) || IsPrefetch(step)) return step.end - step.begin;
  int64_t bytes = 0;
  if (IsRun(graph, step, OpKind::kFeed)) {
    for (const TensorId t : graph.ops[step.op].variants[0].writes) bytes += graph.tensors[t].bytes;
  }
  return bytes;
}

TensorId CopiedTensor(const Graph& graph, const Step& step) {
  return step.kind == StepKind::kCopy ? step.tensor : graph.ops[step.op].variants[0].writes[0];
}

const char* Name(StepKind kind) {
  switch (kind) {
    case StepKind::kAlloc:
      return "alloc";
    case StepKind::kFree:
      return "free";
    case StepKind::kAlias:
      return "alias";
    case StepKind::kCopy:
      return "copy";
    case StepKind::kRun:
      return "run";
    case StepKind::kWait:
      return "wait";
  }
  return "unknown";
}

const char* Verb(const Graph& graph, const Step& step) {
  if (step.kind == StepKind::kCopy)
    return IsOffload(step) ? "offload" : IsPrefetch(step) ? "prefetch" : "move";
  if (step.kind != StepKind::kRun) return Name(step.kind);
  if (step.recompute) return "recompute";
  switch (graph.ops[step.op].kind) {
    case OpKind::kCompute:
      return "compute";
    case OpKind::kFill:
      return "fill";
    case OpKind::kUpdate:
      return "update";
    case OpKind::kFeed:
      return "feed";
  }
  return "unknown";
}

const char* Name(Lane lane) {
  switch (lane) {
    case Lane::kCompute:
      return "compute";
    case Lane::kSave:
      return "save";
    case Lane::kLoad:
      return "load";
    case Lane::kSpill:
      return "spill";
    case Lane::kFetch:
      return "fetch";
  }
  return "unknown";
}

const char* Name(Tier tier) {
  switch (tier) {
    case Tier::kDevice:
      return "device";
    case Tier::kHost:
      return "host";
    case Tier::kFile:
      return "file";
  }
  return "unknown";
}

}  // namespace layrub
