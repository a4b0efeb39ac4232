#include "layrub/placement/ir/plan.hpp"

#include <algorithm>

namespace layrub {

bool TouchedAgain(const Graph& graph, const Form& form, TensorId tensor) {
  return !graph.tensors[tensor].is_state() ||
         std::find(form.writes.begin(), form.writes.end(), tensor) == form.writes.end();
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
  if (step.kind == StepKind::kOffload || step.kind == StepKind::kPrefetch)
    return step.bytes > 0 ? step.bytes : graph.tensors[step.tensor].bytes;
  int64_t bytes = 0;
  if (step.kind == StepKind::kFeed) {
    for (const TensorId t : graph.ops[step.op].forms[0].writes) bytes += graph.tensors[t].bytes;
  }
  return bytes;
}

int64_t MovedBytes(const Graph& graph, const Step& step) {
  return step.bytes > 0 ? step.bytes : graph.tensors[step.tensor].bytes;
}

const char* Name(StepKind kind) {
  switch (kind) {
    case StepKind::kAlloc:
      return "alloc";
    case StepKind::kFree:
      return "free";
    case StepKind::kAlias:
      return "alias";
    case StepKind::kFill:
      return "fill";
    case StepKind::kOffload:
      return "offload";
    case StepKind::kPrefetch:
      return "prefetch";
    case StepKind::kWait:
      return "wait";
    case StepKind::kCompute:
      return "compute";
    case StepKind::kUpdate:
      return "update";
    case StepKind::kRecompute:
      return "recompute";
    case StepKind::kFeed:
      return "feed";
    case StepKind::kMove:
      return "move";
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
  }
  return "unknown";
}

}  // namespace layrub
