#include "layrub/placement/ir/plan_walk.hpp"

#include <algorithm>

namespace layrub {

PlanWalk::PlanWalk(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {
  range_of_.fill(std::vector<int32_t>(graph.tensors.size(), kNone));
  for (const Home& home : plan.homes) Take(home.tier, home.tensor, home.offset);
}

bool PlanWalk::Next() {
  if (++number_ == static_cast<int32_t>(plan_.steps.size())) return false;
  accesses_.clear();
  change_ = {};
  distance_ = 0;
  const Step& next = step();
  switch (next.kind) {
    case StepKind::kAlloc:
      Take(next.tier, next.tensor, next.offset);
      break;
    case StepKind::kFree:
      GiveBack(next);
      break;
    case StepKind::kAlias:
      Bind(next);
      break;
    case StepKind::kMove:
      Move(next);
      break;
    case StepKind::kOffload:
    case StepKind::kPrefetch:
      AddCopied(Tier::kDevice, next, next.kind == StepKind::kPrefetch);
      AddCopied(Tier::kHost, next, next.kind == StepKind::kOffload);
      break;
    case StepKind::kWait:
      break;
    case StepKind::kFill:
    case StepKind::kCompute:
    case StepKind::kUpdate:
    case StepKind::kRecompute:
    case StepKind::kFeed:
      AddOperands(next);
      break;
  }
  return true;
}

/// Of a part, also the bytes that it lacks.
void PlanWalk::Take(Tier tier, TensorId tensor, int64_t offset) {
  int32_t& range = range_of_[Index(tier)][tensor];
  if (range == kNone) {
    range = static_cast<int32_t>(ranges_.size());
    ranges_.push_back({tier, offset, 0, tensor, 1});
  }
  ranges_[range].offset = offset;
  Resize(range, Aligned(graph_.tensors[tensor].bytes));
}

void PlanWalk::GiveBack(const Step& step) {
  int32_t& range = range_of_[Index(step.tier)][step.tensor];
  if (step.bytes > 0) return Resize(range, step.bytes);
  LiveRange& live = ranges_[range];
  const int64_t bytes = live.bytes;
  change_ = {range, 0};
  if (--live.bound == 0) {
    change_.bytes = -bytes;
    live_[Index(step.tier)] -= bytes;
  }
  range = kNone;
}

void PlanWalk::Bind(const Step& step) {
  const int32_t range = RangeOf(Tier::kDevice, step.on);
  range_of_[Index(Tier::kDevice)][step.tensor] = range;
  ++ranges_[range].bound;
  ranges_[range].newest = step.tensor;
  change_ = {range, 0};
}

void PlanWalk::Move(const Step& step) {
  LiveRange& range = ranges_[RangeOf(Tier::kDevice, step.tensor)];
  Add(Tier::kDevice, step.tensor, false);
  distance_ = step.offset - range.offset;
  range.offset = step.offset;
  Add(Tier::kDevice, step.tensor, true);
}

void PlanWalk::Resize(int32_t range, int64_t bytes) {
  LiveRange& live = ranges_[range];
  change_ = {range, bytes - live.bytes};
  live_[Index(live.tier)] += change_.bytes;
  live.bytes = bytes;
}

void PlanWalk::AddCopied(Tier tier, const Step& step, bool writes) {
  const size_t before = accesses_.size();
  Add(tier, step.tensor, writes);
  if (step.bytes == 0 || accesses_.size() == before) return;
  Access& access = accesses_.back();
  access.begin += step.offset;
  access.end = access.begin + Aligned(step.bytes);
}

/// A recomputation leaves state that its form writes alone.
void PlanWalk::AddOperands(const Step& step) {
  const Form& form = graph_.ops[step.op].forms[step.form];
  const bool again = step.kind == StepKind::kRecompute;
  const auto add = [&](TensorId t, bool writes) {
    if (!again || TouchedAgain(graph_, form, t)) Add(Tier::kDevice, t, writes);
  };
  for (const TensorId t : form.reads) add(t, false);
  for (const TensorId t : form.writes) add(t, true);
  if (!form.scratch.empty() && form.scratch[step.scratch].tensor != kNone)
    Add(Tier::kDevice, form.scratch[step.scratch].tensor, true);
}

/// One that lies on a larger range touches no more than its own bytes of that.
void PlanWalk::Add(Tier tier, TensorId tensor, bool writes) {
  const int32_t range = RangeOf(tier, tensor);
  if (range == kNone) return;
  const LiveRange& live = ranges_[range];
  const int64_t bytes = std::min(live.bytes, Aligned(graph_.tensors[tensor].bytes));
  if (bytes > 0) accesses_.push_back({tensor, range, live.offset, live.offset + bytes, writes});
}

}  // namespace layrub
