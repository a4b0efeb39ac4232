#ifndef LAYRUB_PLACEMENT_TEST_MUTATE_HPP_
#define LAYRUB_PLACEMENT_TEST_MUTATE_HPP_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::testing {

/// One small change of a plan.
struct Mutation {
  enum class Kind : uint8_t {
    kDrop,         ///< step `step` is left out
    kFreeEarlier,  ///< the Free `step` moves to just before `other`, the last step that uses its
                   ///< tensor
    kWaitLater,    ///< the Wait `step` moves to just after `other`, the first step that it protects
    kOverlap,  ///< the Alloc `step` takes the offset of the Alloc `other`, whose range is live then
    kRunLater,  ///< the recomputation `step` moves to just after `other`, the first step that reads
                ///< what it restores
    kRunOther,  ///< the recomputation `step` runs operation `other`, which restores none of that
    kShiftCopy,    ///< the partial copy `step` is shifted by kAlignment bytes
    kHalveCopy,    ///< the partial copy `step` ends in its middle
    kBeginLater,   ///< the partial copy `step` begins kAlignment bytes later
    kKeepLess,     ///< the Free `step` keeps kAlignment bytes less, or nothing if it keeps only as
                   ///< many
    kKeepMore,     ///< the Free `step` also keeps the first bytes that `other` takes of its range
    kSwapOffsets,  ///< the Allocs `step` and `other` swap their offsets; may well be harmless
  };
  Kind kind = Kind::kDrop;
  int32_t step = kNone;
  int32_t other = kNone;
  bool needed = true;  ///< the bytes that an Offload no longer saves are prefetched later

  /// Whether Check must object to every plan mutated like this, provided that it accepts the plan,
  /// and that the plan has no needless step and neither keeps nor prefetches bytes that it does not
  /// need.
  bool breaks() const { return needed && kind != Kind::kSwapOffsets; }
};

namespace mutate {

inline bool IsCopy(const Step& step) { return IsOffload(step) || IsPrefetch(step); }

inline std::optional<Lane> LaneOf(const Step& step) {
  if (step.kind == StepKind::kRun || step.kind == StepKind::kCopy) return step.lane;
  return std::nullopt;
}

/// Whether `step` needs the range of `tensor` in `tier` to exist.
inline bool Uses(const Graph& graph, const Step& step, Tier tier, TensorId tensor) {
  if (IsCopy(step)) return step.tensor == tensor;
  if (tier != Tier::kDevice) return false;
  if (IsMove(step)) return step.tensor == tensor;
  if (step.kind == StepKind::kAlias) return step.on == tensor;
  if (step.kind != StepKind::kRun) return false;
  const Variant& variant = graph.ops[step.op].variants[step.variant];
  if (step.recompute && !TouchedByRecomputation(graph, variant, tensor)) return false;
  const auto has = [tensor](const std::vector<TensorId>& ids) {
    return std::find(ids.begin(), ids.end(), tensor) != ids.end();
  };
  return has(variant.reads) || has(variant.writes) ||
         (!variant.algorithms.empty() && variant.algorithms[step.algorithm].workspace == tensor);
}

/// Whether the step takes device bytes for its tensor at its offset.
inline bool TakesDevice(const Step& step) {
  return (step.kind == StepKind::kAlloc && step.tier == Tier::kDevice) || IsMove(step);
}

/// The device offset of the tensor of step `index` before that step.
inline int64_t OffsetAt(const Plan& plan, int32_t index) {
  TensorId tensor = plan.steps[index].tensor;
  while (--index >= 0) {
    const Step& step = plan.steps[index];
    if (step.tensor != tensor) continue;
    if (TakesDevice(step)) return step.offset;
    if (step.kind == StepKind::kAlias) tensor = step.on;
  }
  return 0;
}

/// `plan` without step `index`. Waits for that step wait for the one before it on its lane, if
/// there is one.
inline Plan Without(const Plan& plan, int32_t index) {
  Plan result = plan;
  const std::optional<Lane> lane = LaneOf(plan.steps[index]);
  int32_t before = index - 1;
  while (before >= 0 && LaneOf(plan.steps[before]) != lane) --before;
  result.steps.clear();
  std::vector<int32_t> moved_to(plan.steps.size(), kNone);
  for (int32_t i = 0; i < static_cast<int32_t>(plan.steps.size()); ++i) {
    Step step = plan.steps[i];
    const bool waits_for_it = step.kind == StepKind::kWait && step.step == index;
    if (i == index || (waits_for_it && before == kNone)) {
      for (int32_t pass = 0; pass < 3; ++pass)
        result.pass_end[pass] -= i < plan.pass_end[pass] ? 1 : 0;
      continue;
    }
    if (step.kind == StepKind::kWait) step.step = moved_to[waits_for_it ? before : step.step];
    moved_to[i] = static_cast<int32_t>(result.steps.size());
    result.steps.push_back(step);
  }
  return result;
}

/// `plan` with the step at index `from` moved to index `to`; the steps between move by one. The
/// step then belongs to the pass of the step whose place it took.
inline Plan Moved(const Plan& plan, int32_t from, int32_t to) {
  Plan result = plan;
  const auto begin = result.steps.begin();
  if (from < to) {
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  } else {
    std::rotate(begin + to, begin + from, begin + from + 1);
  }
  for (Step& step : result.steps) {
    if (step.kind != StepKind::kWait) continue;
    if (from < step.step && step.step <= to) --step.step;
    if (to <= step.step && step.step < from) ++step.step;
  }
  for (int32_t& end : result.pass_end) {
    if (from < end && end <= to) --end;
    if (to < end && end <= from) ++end;
  }
  return result;
}

}  // namespace mutate

/// The plan that `mutation` makes of `plan`. References between steps and the ends of the passes
/// follow the steps.
inline Plan Apply(const Plan& plan, const Mutation& mutation) {
  Plan result = plan;
  Step& step = result.steps[mutation.step];
  switch (mutation.kind) {
    case Mutation::Kind::kDrop:
      return mutate::Without(plan, mutation.step);
    case Mutation::Kind::kFreeEarlier:
    case Mutation::Kind::kWaitLater:
    case Mutation::Kind::kRunLater:
      return mutate::Moved(plan, mutation.step, mutation.other);
    case Mutation::Kind::kRunOther:
      step.op = mutation.other;
      break;
    case Mutation::Kind::kShiftCopy:
      step.begin += kAlignment;
      step.end += kAlignment;
      break;
    case Mutation::Kind::kHalveCopy:
      step.end -= (step.end - step.begin) / 2;
      break;
    case Mutation::Kind::kBeginLater:
      step.begin += kAlignment;
      break;
    case Mutation::Kind::kKeepLess:
      step.begin -= kAlignment;
      break;
    case Mutation::Kind::kKeepMore:
      step.begin = plan.steps[mutation.other].offset + plan.steps[mutation.other].begin +
                   kAlignment - mutate::OffsetAt(plan, mutation.step);
      break;
    case Mutation::Kind::kOverlap:
      step.offset = plan.steps[mutation.other].offset;
      break;
    case Mutation::Kind::kSwapOffsets:
      std::swap(step.offset, result.steps[mutation.other].offset);
      break;
  }
  return result;
}

namespace mutate {

/// The tensors that step `index`, a Run, writes to bytes that held nothing before.
inline std::vector<TensorId> BroughtBack(const Graph& graph, const Plan& plan, int32_t index) {
  const Step& run = plan.steps[index];
  std::vector<TensorId> fresh;
  for (const TensorId tensor : graph.ops[run.op].variants[run.variant].writes) {
    int32_t before = index - 1;
    const auto binds = [&](const Step& step) {
      return step.tensor == tensor && step.tier == Tier::kDevice &&
             (step.kind == StepKind::kAlloc || step.kind == StepKind::kAlias ||
              step.kind == StepKind::kFree);
    };
    while (before >= 0 && !binds(plan.steps[before]) &&
           !(LaneOf(plan.steps[before]) && Uses(graph, plan.steps[before], Tier::kDevice, tensor)))
      --before;
    if (before >= 0 && binds(plan.steps[before]) && plan.steps[before].kind != StepKind::kFree)
      fresh.push_back(tensor);
  }
  return fresh;
}

/// The mutations of step `index`, a recomputation.
inline std::vector<Mutation> OfRecompute(const Graph& graph, const Plan& plan, int32_t index) {
  const std::vector<TensorId> fresh = BroughtBack(graph, plan, index);
  const auto any = [&fresh](const auto& condition) {
    return std::any_of(fresh.begin(), fresh.end(), condition);
  };
  const auto has = [](const std::vector<TensorId>& ids, TensorId tensor) {
    return std::find(ids.begin(), ids.end(), tensor) != ids.end();
  };
  std::vector<Mutation> all;
  const auto end = static_cast<int32_t>(plan.steps.size());
  for (int32_t i = index + 1; i < end && all.empty(); ++i) {
    const Step& step = plan.steps[i];
    if (step.kind != StepKind::kRun && !IsOffload(step)) continue;
    if (any([&](TensorId t) {
          return step.kind == StepKind::kRun
                     ? has(graph.ops[step.op].variants[step.variant].reads, t)
                     : step.tensor == t;
        }))
      all.push_back({Mutation::Kind::kRunLater, index, i});
  }
  const auto ops = static_cast<OpId>(graph.ops.size());
  const OpId next = (plan.steps[index].op + 1) % ops;
  const std::vector<Variant>& variants = graph.ops[next].variants;
  if (!all.empty() && !any([&](TensorId t) { return has(variants[0].writes, t); }))
    all.push_back({Mutation::Kind::kRunOther, index, next});
  return all;
}

/// The first byte of the Offload `last` that a later Prefetch reads. 0 if nothing is prefetched
/// from it: then the Offload is a needless step.
inline int64_t FirstNeeded(const Plan& plan, int32_t last) {
  const TensorId tensor = plan.steps[last].tensor;
  std::optional<int64_t> first;
  for (auto i = static_cast<size_t>(last) + 1; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (step.tensor != tensor) continue;
    if (IsPrefetch(step)) first = std::min(first.value_or(step.begin), step.begin);
    if (IsOffload(step) || (step.kind == StepKind::kFree && step.tier != Tier::kDevice))
      return first.value_or(0);
  }
  return 0;
}

/// The mutations of step `index`, a partial copy. If no Prefetch reads the first bytes that an
/// Offload saves, they may be left out.
inline std::vector<Mutation> OfCopy(const Plan& plan, int32_t index) {
  std::vector<Mutation> all{{Mutation::Kind::kShiftCopy, index, kNone},
                            {Mutation::Kind::kHalveCopy, index, kNone}};
  const Step& copy = plan.steps[index];
  if (copy.end - copy.begin > kAlignment) {
    const bool needed = !IsOffload(copy) || FirstNeeded(plan, index) < copy.begin + kAlignment;
    all.push_back({Mutation::Kind::kBeginLater, index, kNone, needed});
  }
  return all;
}

/// The mutations of step `index`, a Free that keeps a part.
inline std::vector<Mutation> OfPart(const Graph& graph, const Plan& plan, int32_t index) {
  std::vector<Mutation> all{{Mutation::Kind::kKeepLess, index, kNone}};
  const Step& free = plan.steps[index];
  const int64_t begin = OffsetAt(plan, index);
  const int64_t end = begin + Aligned(graph.tensors[free.tensor].bytes);
  for (int32_t i = index + 1; i < static_cast<int32_t>(plan.steps.size()); ++i) {
    const Step& step = plan.steps[i];
    const bool ends = step.kind == StepKind::kFree && step.tier == Tier::kDevice;
    if (step.tensor == free.tensor && (ends || TakesDevice(step))) break;
    if (!TakesDevice(step) || graph.tensors[step.tensor].bytes == 0) continue;
    const int64_t taken = step.offset + step.begin;
    if (taken < begin + free.begin || taken >= end) continue;
    all.push_back({Mutation::Kind::kKeepMore, index, i});
    break;
  }
  return all;
}

}  // namespace mutate

/// Every mutation of a correct `plan`, in order of steps: each step that has an effect is dropped,
/// except for Moves, which some plans do not need; each Free, Wait, Alloc, Move and partial copy is
/// moved, and each part made longer or shorter, as far as needed to do harm. Quadratic in the
/// longest life of a tensor, so for small plans.
inline std::vector<Mutation> Mutations(const Graph& graph, const Plan& plan) {
  using Kind = Mutation::Kind;
  std::vector<Mutation> all;
  std::vector<int32_t> live;  // by tensor on the device: the step that put it at its offset
  int32_t last_alloc = kNone;
  for (int32_t i = 0; i < static_cast<int32_t>(plan.steps.size()); ++i) {
    const Step& step = plan.steps[i];
    if (!IsMove(step)) all.push_back({Kind::kDrop, i, kNone});
    const auto append = [&all](const std::vector<Mutation>& more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    const auto forget = [&] {  // the step that put the tensor at its offset so far
      std::erase_if(live, [&](int32_t alloc) {
        return plan.steps[alloc].tensor == step.tensor && plan.steps[alloc].tier == step.tier;
      });
    };
    if (mutate::IsCopy(step) && !IsWhole(graph, step)) append(mutate::OfCopy(plan, i));
    const auto takes_bytes = [&](int32_t alloc) {
      return graph.tensors[plan.steps[alloc].tensor].bytes > 0;
    };
    if (step.kind == StepKind::kAlloc && takes_bytes(i)) {
      forget();
      const auto other = std::find_if(live.rbegin(), live.rend(), [&](int32_t alloc) {
        return plan.steps[alloc].tier == step.tier;
      });
      if (other != live.rend()) all.push_back({Kind::kOverlap, i, *other});
      if (last_alloc != kNone && plan.steps[last_alloc].tier == step.tier &&
          plan.steps[last_alloc].offset != step.offset) {
        all.push_back({Kind::kSwapOffsets, last_alloc, i});
      }
      live.push_back(i);
      last_alloc = i;
    } else if (IsMove(step)) {
      forget();
      const auto other = std::find_if(live.rbegin(), live.rend(), [&](int32_t alloc) {
        return plan.steps[alloc].tier == Tier::kDevice;
      });
      if (other != live.rend()) all.push_back({Kind::kOverlap, i, *other});
      live.push_back(i);
    } else if (step.kind == StepKind::kFree) {
      if (!IsWhole(graph, step)) {
        append(mutate::OfPart(graph, plan, i));
      } else {
        forget();
      }
      int32_t use = i - 1;
      while (use >= 0 && !mutate::Uses(graph, plan.steps[use], step.tier, step.tensor)) --use;
      if (use >= 0) all.push_back({Kind::kFreeEarlier, i, use});
    } else if (step.recompute) {
      append(mutate::OfRecompute(graph, plan, i));
    } else if (step.kind == StepKind::kWait) {
      const int32_t end = static_cast<int32_t>(plan.steps.size());
      int32_t next = i + 1;
      while (next < end && mutate::LaneOf(plan.steps[next]) != step.lane) ++next;
      if (next < end) all.push_back({Kind::kWaitLater, i, next});
    }
  }
  return all;
}

/// For messages: "drop step 12 (wait)".
inline std::string Describe(const Graph& graph, const Plan& plan, const Mutation& mutation) {
  static const char* const kKinds[] = {"drop",        "free earlier", "wait later", "overlap",
                                       "run later",   "run other",    "shift copy", "halve copy",
                                       "begin later", "keep less",    "keep more",  "swap offsets"};
  const auto describe = [&](int32_t number) {
    const Step& step = plan.steps[number];
    std::string text = "step " + std::to_string(number) + " (" + Verb(graph, step);
    if (step.tensor != kNone) text += " " + graph.tensors[step.tensor].name;
    if (step.op != kNone) text += " " + graph.ops[step.op].name;
    return text + ")";
  };
  std::string text =
      std::string(kKinds[static_cast<size_t>(mutation.kind)]) + " " + describe(mutation.step);
  if (mutation.kind == Mutation::Kind::kRunOther)
    return text + ", " + graph.ops[mutation.other].name;
  if (mutation.other != kNone) text += ", " + describe(mutation.other);
  return text;
}

/// The graph without Tensor::host_access where `plan` makes no use of it. Otherwise an operation
/// may find the value in host memory though a mutation has taken it from the device.
inline Graph WithNeededHostAccess(Graph graph, const Plan& plan) {
  for (const Step& step : plan.steps) {
    const bool taken = step.kind == StepKind::kAlloc && step.tier == Tier::kDevice;
    if (taken) graph.tensors[step.tensor].host_access = false;
  }
  return graph;
}

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_MUTATE_HPP_
