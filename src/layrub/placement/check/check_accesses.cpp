#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/check/check_walk.hpp"

namespace layrub::placement::check {
namespace {

template <typename T>
bool Contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

/// Queues the current step on `lane`, and objects if it names another.
void Checker::Queue(const Step& step, Lane lane) {
  if (step.lane != lane) Object(std::string("is not on the lane ") + Name(lane));
  order_.Queue(now_, lane);
}

void Checker::CheckCopy(const Step& step) {
  if (step.from != Tier::kDevice && step.tier != Tier::kDevice)
    return Object("copies neither from the device nor to it");
  const bool offloads = step.from == Tier::kDevice;
  const bool with_file = (offloads ? step.tier : step.from) == Tier::kFile;
  Queue(step, offloads ? (with_file ? Lane::kSpill : Lane::kSave)
                       : (with_file ? Lane::kFetch : Lane::kLoad));
  const Span span{step.begin, step.end};
  Memory& to = MemoryOf(step.tier);
  const bool read = ReadValue(MemoryOf(step.from), step.tensor, span);
  if (!to.arena.Has(step.tensor))
    return Object(NameOf(step.tensor) + " has no " + to.name + " range to copy to");
  if (IsPrefetch(step) && lies_on_[step.tensor] != kNone) {
    Object("copies over " + NameOf(lies_on_[step.tensor]) +
           ", on which only an operation may write");
  }
  WriteBytes(to, step.tensor, read ? CurrentValue(step.tensor) : Value{}, span);
}

void Checker::CheckMove(const Step& step) {
  Queue(step, Lane::kCompute);
  Arena& arena = device_.arena;
  const Span span{step.begin, step.end};
  const bool read = ReadValue(device_, step.tensor, span);
  if (!arena.Has(step.tensor)) return;
  const Range before = arena.Of(step.tensor);
  if (before.has != Span{step.begin, Aligned(step.end)})
    Object("moves bytes " + Text(span) + " of " + NameOf(step.tensor) + ", but bytes " +
           Text(before.has) + " are on the device");
  if (IsHome(step.tensor, Tier::kDevice)) Object(NameOf(step.tensor) + " has to stay in its home");
  if (before.bound > 1) Object(NameOf(step.tensor) + " is not the only tensor in its range");
  arena.Free(step.tensor);
  Place(device_, step.tensor, step.offset, before.has, before);
  WriteBytes(device_, step.tensor, read ? CurrentValue(step.tensor) : Value{}, span);
}

void Checker::CheckOp(const Step& step) {
  const bool feeds = graph_.ops[step.op].kind == OpKind::kFeed;
  Queue(step, feeds ? Lane::kLoad : Lane::kCompute);
  const Variant& variant = *ChosenVariant(step);
  if (step.recompute) {
    CheckRecomputation(step, variant);
  } else {
    CheckTurn(step);
  }
  for (TensorId tensor : variant.reads) {
    if (!LeftAlone(step, variant, tensor)) ReadValue(IsInPlace(tensor) ? host_ : device_, tensor);
  }

  // The written tensors that have a range of the device, and the workspace; those in host memory.
  std::vector<TensorId> outputs, in_host_memory;
  for (TensorId tensor : variant.writes) {
    if (LeftAlone(step, variant, tensor)) continue;
    if (IsInPlace(tensor)) {
      in_host_memory.push_back(tensor);
    } else if (device_.arena.Has(tensor)) {
      outputs.push_back(tensor);
    } else if (!IsUnread(tensor)) {
      Object("writes " + NameOf(tensor) + ", which has no device range");
    }
  }
  const int32_t algorithms = static_cast<int32_t>(variant.algorithms.size());
  if (step.algorithm < 0 || step.algorithm >= std::max(algorithms, 1)) {
    Object("there is no algorithm " + std::to_string(step.algorithm));
  } else if (algorithms > 0 && variant.algorithms[step.algorithm].workspace != kNone) {
    const TensorId workspace = variant.algorithms[step.algorithm].workspace;
    if (!device_.arena.Has(workspace)) {
      Object("needs the workspace " + NameOf(workspace) + ", which has no device range");
    } else {
      outputs.push_back(workspace);
    }
  }
  CheckAliases(variant, outputs);
  if (!step.recompute) NoteRun(step, variant);
  for (TensorId tensor : outputs) WriteBytes(device_, tensor, CurrentValue(tensor));
  for (TensorId tensor : in_host_memory) WriteBytes(host_, tensor, CurrentValue(tensor));
}

/// The current step runs its operation for the first time: what it writes has a new version.
void Checker::NoteRun(const Step& step, const Variant& variant) {
  FirstRun run{step.variant, step.algorithm, {}, {}};
  for (TensorId tensor : variant.reads) run.found.push_back(version_[tensor]);
  for (TensorId tensor : variant.writes) run.left.push_back(++version_[tensor]);
  first_run_[step.op] = std::move(run);
}

/// A recomputation must give the bits of the first run: it must find the same values, run in the
/// same variant with the same deterministic algorithm, and set no tensor back to an older version.
void Checker::CheckRecomputation(const Step& step, const Variant& variant) {
  const Op& op = graph_.ops[step.op];
  if (!op.repeatable || op.pass != Pass::kForward || op.kind != OpKind::kCompute)
    Object("is not a forward operation that may run again");
  const FirstRun& first = first_run_[step.op];
  if (first.variant == kNone) return Object("runs again before it has run");
  if (step.variant != first.variant || step.algorithm != first.algorithm)
    return Object("runs again in another variant or with another algorithm");
  const auto algorithms = static_cast<int32_t>(variant.algorithms.size());
  if (step.algorithm >= 0 && step.algorithm < algorithms &&
      !variant.algorithms[step.algorithm].deterministic)
    Object("may give other bits with this algorithm");
  for (size_t i = 0; i < variant.reads.size(); ++i) {
    const TensorId tensor = variant.reads[i];
    if (!LeftAlone(step, variant, tensor) && version_[tensor] != first.found[i])
      Object("reads " + NameOf(tensor) + ", which has changed since it ran first");
  }
  for (size_t i = 0; i < variant.writes.size(); ++i) {
    const TensorId tensor = variant.writes[i];
    if (!LeftAlone(step, variant, tensor) && version_[tensor] != first.left[i])
      Object("writes an older value of " + NameOf(tensor));
  }
}

/// Each operation must run once, in graph order, in the part of the plan of its pass.
void Checker::CheckTurn(const Step& step) {
  const Op& op = graph_.ops[step.op];
  if (runs_[step.op]++ > 0) {
    Object("runs a second time");
  } else if (step.op != turn_) {
    Object("runs out of order: it is the turn of " + (turn_ < static_cast<OpId>(graph_.ops.size())
                                                          ? graph_.ops[turn_].name
                                                          : std::string("none")));
  }
  turn_ = std::max(turn_, step.op + 1);
  const auto pass = static_cast<size_t>(op.pass);
  const int32_t begin = pass == 0 ? 0 : plan_.pass_end[pass - 1];
  if (now_ < begin || now_ >= plan_.pass_end[pass]) {
    Object(std::string("lies outside the ") + Name(op.pass) + " pass, steps " +
           std::to_string(begin) + " to " + std::to_string(plan_.pass_end[pass]));
  }
}

/// An output may share its range with an operand, or with the tensor it was put on, only as the
/// variant allows, and never with another output.
void Checker::CheckAliases(const Variant& variant, const std::vector<TensorId>& outputs) {
  for (TensorId output : outputs) {
    std::vector<TensorId> under;
    if (lies_on_[output] != kNone) under.push_back(lies_on_[output]);
    lies_on_[output] = kNone;
    for (TensorId operand : variant.reads) {
      if (operand == output || !device_.arena.Has(operand) || Contains(under, operand)) continue;
      if (device_.arena.Share(output, operand)) under.push_back(operand);
    }
    for (TensorId input : under) {
      if (Contains(variant.may_alias, AliasPair{output, input})) continue;
      Object("writes " + NameOf(output) + " on the bytes of " + NameOf(input) + ", which variant " +
             variant.name + " does not allow");
    }
    for (TensorId other : outputs) {
      if (other < output && device_.arena.Share(output, other)) {
        Object("writes " + NameOf(output) + " and " + NameOf(other) + " on the same bytes");
      }
    }
  }
}

/// Notes that the current step reads `span` of the current value of `tensor` from `memory`. Objects
/// and returns false if it is not there.
bool Checker::ReadValue(Memory& memory, TensorId tensor, const Span& span) {
  const auto object = [&](const std::string& text) {
    Object("reads " + NameOf(tensor) + text);
    return false;
  };
  const std::string tier = memory.name;
  if (!memory.arena.Has(tensor)) return object(", which has no " + tier + " range");
  const Range& range = memory.arena.Of(tensor);
  if (!range.has.Covers(Clipped(tensor, span)))
    return object(", but its " + tier + " range has only bytes " + Text(range.has));
  const auto [begin, end] = PlaceOf(range, tensor, span);
  const int32_t conflict = memory.log.Read(now_, begin, end);
  if (conflict != kNone) {
    object(" without waiting for " + Describe(conflict) + ", which writes there");
  }
  if (range.holds == CurrentValue(tensor)) {
    if (range.of.Covers(Clipped(tensor, span))) return true;
    return object(", but its " + tier + " range holds only bytes " +
                  Text(Clipped(tensor, range.of)));
  }
  if (range.holds.tensor == kNone) return object(", whose " + tier + " range was not written");
  if (range.holds.tensor == tensor)
    return object(", whose " + tier + " range holds an older value");
  return object(", whose " + tier + " range holds " + NameOf(range.holds.tensor));
}

/// Notes that the current step writes `span` of `value` to the range of `tensor` in `memory`. The
/// range may already hold adjoining bytes of that value.
void Checker::WriteBytes(Memory& memory, TensorId tensor, Value value, const Span& span) {
  Range& range = memory.arena.Of(tensor);
  if (!range.has.Covers(Clipped(tensor, span)))
    Object("writes " + NameOf(tensor) + ", but its " + memory.name + " range has only bytes " +
           Text(range.has));
  const auto [begin, end] = PlaceOf(range, tensor, span);
  const int32_t conflict = memory.log.Write(now_, begin, end);
  if (conflict != kNone) {
    Object("writes " + NameOf(tensor) + " without waiting for " + Describe(conflict) +
           ", which uses the same " + memory.name + " bytes");
  }
  const bool joins =
      range.holds == value && range.of.begin <= span.end && span.begin <= range.of.end;
  range.of =
      joins ? Span{std::min(range.of.begin, span.begin), std::max(range.of.end, span.end)} : span;
  range.holds = value;
}

}  // namespace layrub::placement::check
