#include "layrub/placement/ir/plan_walk.hpp"

#include <algorithm>

namespace layrub {

PlanWalk::PlanWalk(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {
  range_of_.fill(std::vector<int32_t>(graph.tensors.size(), kNone));
  for (const Home& home : plan.homes)
    Take(home.tier, home.tensor, home.offset, 0, graph.tensors[home.tensor].bytes);
}

bool PlanWalk::Next() {
  if (++number_ == static_cast<int32_t>(plan_.steps.size())) return false;
  accesses_.clear();
  change_ = {};
  distance_ = 0;
  const Step& next = step();
  switch (next.kind) {
    case StepKind::kAlloc:
      Take(next.tier, next.tensor, next.offset, next.begin, next.end);
      break;
    case StepKind::kFree:
      GiveBack(next);
      break;
    case StepKind::kAlias:
      Bind(next);
      break;
    case StepKind::kCopy:
      if (IsMove(next)) {
        Move(next);
      } else {
        AddCopied(Tier::kDevice, next, IsPrefetch(next));
        AddCopied(IsOffload(next) ? next.tier : next.from, next, IsOffload(next));
      }
      break;
    case StepKind::kWait:
      break;
    case StepKind::kRun:
      AddOperands(next);
      break;
  }
  return true;
}

/// Gives the tensor bytes [begin, end) beside those that it has in `tier`.
void PlanWalk::Take(Tier tier, TensorId tensor, int64_t offset, int64_t begin, int64_t end) {
  int32_t& range = range_of_[Index(tier)][tensor];
  if (range == kNone) {
    range = static_cast<int32_t>(ranges_.size());
    ranges_.push_back({tier, offset + begin, 0, begin, tensor, 1});
  }
  LiveRange& live = ranges_[range];
  const int64_t before = live.bytes, last = std::max(live.first + before, Aligned(end));
  live.first = std::min(live.first, begin);
  live.offset = offset + live.first;
  Resize(range, last - live.first);
}

void PlanWalk::GiveBack(const Step& step) {
  int32_t& range = range_of_[Index(step.tier)][step.tensor];
  LiveRange& live = ranges_[range];
  int64_t end = Aligned(step.end);
  if (step.end == graph_.tensors[step.tensor].bytes)  // the range that it lies on may be longer
    end = std::max(end, live.first + live.bytes);
  const int64_t left = live.bytes - (end - step.begin);
  if (left > 0 && !IsWhole(graph_, step)) {
    if (step.begin == live.first) {
      live.offset += end - step.begin;
      live.first = end;
    }
    return Resize(range, left);
  }
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
  distance_ = step.offset + range.first - range.offset;
  range.offset += distance_;
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
  if (IsWhole(graph_, step) || accesses_.size() == before) return;
  Access& access = accesses_.back();
  access.begin += step.begin - ranges_[access.range].first;
  access.end = access.begin + Aligned(step.end) - step.begin;
}

/// A recomputation leaves state that its variant writes alone.
void PlanWalk::AddOperands(const Step& step) {
  const Variant& variant = graph_.ops[step.op].variants[step.variant];
  const auto add = [&](TensorId t, bool writes) {
    if (!step.recompute || TouchedByRecomputation(graph_, variant, t))
      Add(Tier::kDevice, t, writes);
  };
  for (const TensorId t : variant.reads) add(t, false);
  for (const TensorId t : variant.writes) add(t, true);
  if (!variant.algorithms.empty() && variant.algorithms[step.algorithm].workspace != kNone)
    Add(Tier::kDevice, variant.algorithms[step.algorithm].workspace, true);
}

/// A tensor that lies on a larger range touches only its own bytes of it.
void PlanWalk::Add(Tier tier, TensorId tensor, bool writes) {
  const int32_t range = RangeOf(tier, tensor);
  if (range == kNone) return;
  const LiveRange& live = ranges_[range];
  const int64_t bytes = std::min(live.bytes, Aligned(graph_.tensors[tensor].bytes));
  if (bytes > 0) accesses_.push_back({tensor, range, live.offset, live.offset + bytes, writes});
}

}  // namespace layrub
