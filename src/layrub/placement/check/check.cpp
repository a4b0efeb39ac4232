// A plan is executed symbolically in program order: for every range of bytes the checker knows
// which value of which tensor it holds. That alone would prove only one of the many orders in which
// three lanes may run. So every access is also compared with the earlier accesses of the same
// bytes: if all conflicting ones are ordered by lanes and Waits, then every order that the lanes
// may take gives each reader the same bytes as program order does, and what holds for program order
// holds for all of them.
#include "layrub/placement/check/check.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/check/check_walk.hpp"

namespace layrub {
namespace placement::check {

Checker::Checker(const Graph& graph, const Plan& plan, const Budget& budget)
    : graph_(graph),
      plan_(plan),
      order_(plan.steps.size()),
      device_{"device", plan.device_bytes, Arena(graph.tensors.size()), AccessLog(order_)},
      host_{"host", plan.host_bytes, Arena(graph.tensors.size()), AccessLog(order_)},
      file_{"file", plan.spill_bytes, Arena(graph.tensors.size()), AccessLog(order_)},
      runs_(graph.ops.size()),
      first_run_(graph.ops.size()),
      version_(graph.tensors.size()),
      lies_on_(graph.tensors.size(), kNone),
      read_(graph.tensors.size()),
      readable_(graph.tensors.size()),
      home_(graph.tensors.size()) {
  CheckSizes(budget);
  for (const Home& home : plan.homes) TakeHome(home);
  const auto in_order = [](const Home& a, const Home& b) { return a.tensor < b.tensor; };
  if (!std::is_sorted(plan.homes.begin(), plan.homes.end(), in_order))
    Object("they are not in order of tensors");
  for (const Step& step : plan.steps) {
    const Variant* variant = ChosenVariant(step);
    if (variant == nullptr) continue;
    for (TensorId tensor : variant->reads) read_[tensor] = true;
  }
}

std::vector<std::string> Checker::Run() {
  for (now_ = 0; now_ < static_cast<int32_t>(plan_.steps.size()); ++now_) {
    if (now_ == plan_.pass_end[0]) CheckKeptAfter("forward");
    if (now_ == plan_.pass_end[1]) CheckKeptAfter("backward");
    CheckStep();
  }
  CheckEnd();
  return std::move(objections_);
}

/// The variant that a Run step asks for; null for other steps, or if there is no such variant.
const Variant* Checker::ChosenVariant(const Step& step) const {
  if (step.kind != StepKind::kRun || step.op < 0 || step.op >= static_cast<OpId>(graph_.ops.size()))
    return nullptr;
  const std::vector<Variant>& variants = graph_.ops[step.op].variants;
  return step.variant >= 0 && step.variant < static_cast<int32_t>(variants.size())
             ? &variants[step.variant]
             : nullptr;
}

/// "step 12 (offload conv1)".
std::string Checker::Describe(int32_t number) const {
  if (number == kNone) return "homes";
  const Step& step = plan_.steps[number];
  const bool runs = step.op >= 0 && step.op < static_cast<OpId>(graph_.ops.size());
  const char* const verb =
      runs || step.kind != StepKind::kRun ? Verb(graph_, step) : Name(step.kind);
  std::string text = "step " + std::to_string(number) + " (" + verb;
  if (runs) text += " " + graph_.ops[step.op].name;
  if (step.tensor >= 0 && step.tensor < static_cast<TensorId>(graph_.tensors.size()))
    text += " " + NameOf(step.tensor);
  return text + ")";
}

void Checker::CheckSizes(const Budget& budget) {
  const auto check = [this](const char* tier, int64_t bytes, int64_t allowed) {
    if (bytes < 0) objections_.push_back(std::string("the ") + tier + " arena has a negative size");
    if (bytes <= allowed) return;
    objections_.push_back(std::string("the ") + tier + " arena takes " + std::to_string(bytes) +
                          " bytes, the budget is " + std::to_string(allowed));
  };
  check("device", plan_.device_bytes, budget.device - budget.reserved);
  check("host", plan_.host_bytes, budget.host);
  check("file", plan_.spill_bytes, budget.spill);
  const auto& end = plan_.pass_end;
  if (end[0] < 0 || end[0] > end[1] || end[1] > end[2] ||
      end[2] != static_cast<int32_t>(plan_.steps.size())) {
    objections_.push_back("the ends of the passes (" + std::to_string(end[0]) + ", " +
                          std::to_string(end[1]) + ", " + std::to_string(end[2]) +
                          ") do not cut the plan's " + std::to_string(plan_.steps.size()) +
                          " steps into three");
  }
}

void Checker::CheckStep() {
  const Step& step = plan_.steps[now_];
  if (!HasValidIds(step)) return;
  switch (step.kind) {
    case StepKind::kAlloc:
      return CheckAlloc(step);
    case StepKind::kFree:
      return CheckFree(step);
    case StepKind::kAlias:
      return CheckAlias(step);
    case StepKind::kWait:
      return CheckWait(step);
    case StepKind::kCopy:
      return IsMove(step) ? CheckMove(step) : CheckCopy(step);
    case StepKind::kRun:
      return CheckOp(step);
  }
}

/// Whether the ids of the step exist in the graph, and its bytes in its tensor. Objects if not.
bool Checker::HasValidIds(const Step& step) {
  const auto is_tensor = [this](TensorId id) {
    return id >= 0 && id < static_cast<TensorId>(graph_.tensors.size());
  };
  const auto is_tier = [](Tier tier) { return Index(tier) < kTiers; };
  switch (step.kind) {
    case StepKind::kAlias:
      if (is_tensor(step.tensor) && is_tensor(step.on)) return true;
      break;
    case StepKind::kAlloc:
    case StepKind::kFree:
    case StepKind::kCopy:
      if (is_tensor(step.tensor) && is_tier(step.tier) && is_tier(step.from))
        return HasValidBytes(step);
      break;
    case StepKind::kWait:
      if (static_cast<int32_t>(step.lane) < kLanes) return true;
      break;
    case StepKind::kRun:
      if (ChosenVariant(step) != nullptr) return true;
      break;
  }
  Object("names a tensor, tier, lane, operation or variant that does not exist");
  return false;
}

bool Checker::HasValidBytes(const Step& step) {
  const int64_t all = graph_.tensors[step.tensor].bytes;
  const bool whole = step.begin == 0 && step.end == all;
  const bool some = step.begin >= 0 && step.begin < step.end && step.end <= all;
  if (!whole && !some) {
    Object("is of bytes " + Text({step.begin, step.end}) + ", but the tensor has " +
           std::to_string(all));
    return false;
  }
  if (step.begin % kAlignment == 0 && (step.end == all || step.end % kAlignment == 0)) return true;
  Object("is of bytes " + Text({step.begin, step.end}) + ", which are not aligned");
  return false;
}

void Checker::CheckAlloc(const Step& step) {
  Memory& memory = MemoryOf(step.tier);
  const Tensor& tensor = graph_.tensors[step.tensor];
  if (tensor.is_state() && !home_[step.tensor]) Object(tensor.name + " is state and has no home");
  const Span added{step.begin, Aligned(step.end)};
  if (!memory.arena.Has(step.tensor)) {
    Place(memory, step.tensor, step.offset, added, {});
    return;
  }
  const Range before = memory.arena.Of(step.tensor);
  if (!IsPart(before, step.tensor) || before.bound > 1 ||
      (added.end != before.has.begin && added.begin != before.has.end))
    return Object(tensor.name + " has a " + memory.name + " range already, with bytes " +
                  Text(before.has));
  if (step.offset != before.offset - before.has.begin)
    Object("lies elsewhere than the part of " + tensor.name + ": bytes " + Text(before.has) +
           " are at " + std::to_string(before.offset));
  memory.arena.Free(step.tensor);
  Place(memory, step.tensor, step.offset,
        {std::min(added.begin, before.has.begin), std::max(added.end, before.has.end)}, before);
}

/// Gives the tensor a range for the bytes `has`, with its byte 0 at `offset`. The range holds what
/// `before` held.
void Checker::Place(Memory& memory, TensorId tensor, int64_t offset, const Span& has,
                    const Range& before) {
  const int64_t bytes = BytesAt(offset + has.begin, memory, has.end - has.begin);
  memory.arena.Alloc(tensor, offset + has.begin, bytes);
  Range& range = memory.arena.Of(tensor);
  range.has = has;
  range.holds = before.holds;
  range.of = before.of;
}

/// Returns `bytes` if a range of that size may begin at `offset`. Otherwise objects and returns 0.
int64_t Checker::BytesAt(int64_t offset, const Memory& memory, int64_t bytes) {
  const std::string range = "[" + std::to_string(offset) + ", +" + std::to_string(bytes) + ")";
  if (offset % kAlignment != 0) Object("offset " + std::to_string(offset) + " is not aligned");
  if (offset < 0 || offset > memory.bytes - bytes) {
    Object("range " + range + " is not inside the " + memory.name + " arena of " +
           std::to_string(memory.bytes) + " bytes");
    bytes = 0;
  } else if (const TensorId other = memory.arena.Overlapping(offset, bytes); other != kNone) {
    Object("range " + range + " overlaps the live " + memory.name + " range of " + NameOf(other));
    bytes = 0;  // objects once: the wrong range takes no part in what follows
  }
  return bytes;
}

/// State is in its home from the start, with the value from before the iteration.
void Checker::TakeHome(const Home& home) {
  if (home.tensor < 0 || home.tensor >= static_cast<TensorId>(graph_.tensors.size()))
    return Object("one is for a tensor that does not exist");
  const Tensor& tensor = graph_.tensors[home.tensor];
  if (!tensor.is_state()) return Object(tensor.name + " has one, but is not state");
  if (home_[home.tensor]) return Object(tensor.name + " has two");
  home_[home.tensor] = home.tier;
  Memory& memory = MemoryOf(home.tier);
  Place(memory, home.tensor, home.offset, {0, Aligned(tensor.bytes)}, {});
  memory.arena.Of(home.tensor).holds = {home.tensor, 0};
}

void Checker::CheckFree(const Step& step) {
  Memory& memory = MemoryOf(step.tier);
  const std::string name = NameOf(step.tensor);
  if (!memory.arena.Has(step.tensor)) return Object(name + " has no " + memory.name + " range");
  if (IsHome(step.tensor, step.tier)) Object(name + " gives its home back");
  const Range before = memory.arena.Of(step.tensor);
  Span given{step.begin, Aligned(step.end)};
  if (step.end == graph_.tensors[step.tensor].bytes)  // the range that it lies on may be longer
    given.end = std::max(given.end, before.has.end);
  if (step.tier == Tier::kDevice) lies_on_[step.tensor] = kNone;
  if (IsWhole(graph_, step) ? !IsPart(before, step.tensor) : given == before.has)
    return memory.arena.Free(step.tensor);
  const auto object = [&](const std::string& text) {
    Object("gives bytes " + Text(given) + " of " + name + " back, " + text);
  };
  if (!before.has.Covers(given)) return object("which has " + Text(before.has));
  if (given.begin != before.has.begin && given.end != before.has.end)
    return object("from the middle of " + Text(before.has));
  if (before.bound > 1) return object("which is not the only tensor in its range");
  const Span left = given.begin == before.has.begin ? Span{given.end, before.has.end}
                                                    : Span{before.has.begin, given.begin};
  memory.arena.Free(step.tensor);
  Place(memory, step.tensor, before.offset - before.has.begin, left, before);
  Span& of = memory.arena.Of(step.tensor).of;
  of = {std::max(of.begin, left.begin), std::min(of.end, left.end)};
}

void Checker::CheckAlias(const Step& step) {
  const Tensor& tensor = graph_.tensors[step.tensor];
  Arena& arena = device_.arena;
  if (arena.Has(step.tensor)) return Object(tensor.name + " has a device range already");
  if (!arena.Has(step.on))
    return Object("is put on " + NameOf(step.on) + ", which has no device range");
  if (IsPart(arena.Of(step.on), step.on))
    Object("is put on " + NameOf(step.on) + ", but only a part of that is on the device");
  if (tensor.is_state()) Object(tensor.name + " is state and needs a range of its own");
  if (Aligned(tensor.bytes) > arena.Of(step.on).bytes) {
    Object("needs " + std::to_string(tensor.bytes) + " bytes, the range of " + NameOf(step.on) +
           " has " + std::to_string(arena.Of(step.on).bytes));
  }
  arena.Bind(step.tensor, step.on);
  lies_on_[step.tensor] = step.on;
}

void Checker::CheckWait(const Step& step) {
  const std::string awaited = "step " + std::to_string(step.step);
  if (step.step < 0 || step.step >= now_)
    return Object("waits for " + awaited + ", which is not an earlier step");
  if (!order_.IsQueued(step.step)) return Object("waits for " + awaited + ", which takes no time");
  if (order_.LaneOf(step.step) == step.lane)
    return Object("makes a lane wait for " + awaited + " of its own");
  order_.Wait(step.lane, step.step);
}

void Checker::CheckEnd() {
  for (size_t op = 0; op < graph_.ops.size(); ++op) {
    if (runs_[op] == 0) objections_.push_back("operation " + graph_.ops[op].name + " never runs");
  }
  for (size_t i = 0; i < plan_.readable.size(); ++i) {
    if (i > 0 && plan_.readable[i] <= plan_.readable[i - 1]) {
      objections_.push_back("the list of readable tensors is not sorted, or names one twice");
    }
    if (plan_.readable[i] < 0 ||
        plan_.readable[i] >= static_cast<TensorId>(graph_.tensors.size())) {
      objections_.push_back("the list of readable tensors names one that does not exist");
    } else if (graph_.tensors[plan_.readable[i]].is_state()) {
      objections_.push_back(NameOf(plan_.readable[i]) + " is state: it is not listed as readable");
    } else {
      readable_[plan_.readable[i]] = true;
    }
  }
  for (size_t tensor = 0; tensor < graph_.tensors.size(); ++tensor)
    CheckLeftOver(static_cast<TensorId>(tensor));
}

/// Between two passes the user may read state, and what is marked keep and has been written.
void Checker::CheckKeptAfter(const char* pass) {
  for (size_t t = 0; t < graph_.tensors.size(); ++t) {
    const auto id = static_cast<TensorId>(t);
    const bool is_state = graph_.tensors[t].is_state();
    if (is_state ? !home_[t] : !graph_.tensors[t].keep || version_[t] == 0) continue;
    const auto is_in = [&](const Memory& memory) {
      return memory.arena.Has(id) && HasValue(memory.arena.Of(id), id);
    };
    if (!is_in(device_) && !is_in(host_) && !is_in(file_))
      objections_.push_back("after the " + std::string(pass) + " pass " + NameOf(id) +
                            " cannot be read, although it is " +
                            (is_state ? "state" : "marked keep"));
  }
}

/// At the end a state tensor is in its home and a readable one in one of the tiers, both with their
/// value. No other tensor has a range.
void Checker::CheckLeftOver(TensorId id) {
  const Tensor& tensor = graph_.tensors[id];
  const auto object = [&](const std::string& text) {
    objections_.push_back("at the end of the plan " + tensor.name + " " + text);
  };
  const bool readable = readable_[id];
  const bool on_device = device_.arena.Has(id);
  const bool on_host = host_.arena.Has(id), in_file = file_.arena.Has(id);
  if (tensor.keep && !tensor.is_state() && !readable)
    object("is marked keep but is not listed as readable");
  if (on_host && !IsHome(id, Tier::kHost) && (on_device || !readable))
    object("still has a host range");
  if (in_file && !IsHome(id, Tier::kFile) && (on_device || on_host || !readable))
    object("still has a range of the file");
  if (on_device && !IsHome(id, Tier::kDevice) && !readable) object("still has a device range");
  if (tensor.is_state() && !home_[id]) object("has no home, although it is state");
  if (!readable && !home_[id]) return;
  if (!on_device && !on_host && !in_file) return object("has no range although it is readable");
  const Memory& memory = home_[id]   ? MemoryOf(*home_[id])
                         : on_device ? device_
                         : on_host   ? host_
                                     : file_;
  if (!memory.arena.Has(id)) return;  // its home was given back, which CheckFree has objected to
  const Range& range = memory.arena.Of(id);
  const Value& holds = range.holds;
  if (holds == CurrentValue(id)) {
    if (HasValue(range, id)) return;
    return object("does not have its whole value: its range holds " + Text(Clipped(id, range.of)) +
                  " only");
  }
  object("does not have its value: its range holds " + (holds.tensor == kNone ? "nothing"
                                                        : holds.tensor == id
                                                            ? "an older one"
                                                            : NameOf(holds.tensor)));
}

}  // namespace placement::check

std::vector<std::string> Check(const Graph& graph, const Plan& plan, const Budget& budget) {
  return placement::check::Checker(graph, plan, budget).Run();
}

}  // namespace layrub
