#include "layrub/plan.hpp"

namespace layrub {

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
