#include "layrub/placement/schedule/emit_steps.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "layrub/placement/ir/buckets.hpp"

namespace layrub::placement::schedule {
namespace {

using pack::Interval;

/// Writes the steps of a plan, without offsets and Waits, and notes when each range is in use.
class Emitter {
 public:
  Emitter(const Graph& graph, const Program& program, const Lifetimes& lives)
      : graph_(graph),
        program_(program),
        lives_(lives),
        plan_(out_.plan),
        events_(kEvents * program.runs.size(), [this](const auto& add) { FindEvents(add); }) {
    out_.device.resize(lives.blocks);
    out_.follows.assign(lives.blocks, kNone);
    out_.host.assign(lives.host.size(), Interval{0, 0, kToTheEnd});
  }

  Emitted EmitAll() {
    plan_.steps.reserve(3 * lives_.intervals.size() + 3 * out_.host.size() + program_.runs.size());
    for (const LiveInterval& interval : lives_.intervals) {
      if (interval.begin != kNone) continue;
      if (graph_.tensors[interval.tensor].is_state()) {
        plan_.homes.push_back({interval.tensor, Tier::kDevice, interval.block});
        out_.device[interval.block] = {interval.bytes, 0, kToTheEnd};
      } else {
        Begin(interval);
      }
    }
    for (size_t i = 0; i < lives_.host.size(); ++i) {
      const HostInterval& stay = lives_.host[i];
      if (!stay.home) continue;
      plan_.homes.push_back({stay.tensor, stay.tier, static_cast<int64_t>(i)});
      out_.host[i] = {Aligned(graph_.tensors[stay.tensor].bytes), 0, kToTheEnd};
    }
    std::sort(plan_.homes.begin(), plan_.homes.end(),
              [](const Home& a, const Home& b) { return a.tensor < b.tensor; });
    plan_.pass_end.fill(StepCount());
    size_t pass = 0;
    const auto end_pass = [&] {
      std::fill(plan_.pass_end.begin() + pass, plan_.pass_end.end(), StepCount());
    };
    for (RunId r = 0; r < RunCount(); ++r) {
      EmitRun(r);
      // A recomputation belongs to the pass of the operation that follows.
      if (program_.runs[r].recompute) continue;
      pass = static_cast<size_t>(graph_.ops[program_.runs[r].op].pass);
      end_pass();
    }
    end_pass();
    plan_.readable = lives_.readable;
    return std::move(out_);
  }

 private:
  /// What happens around a run to a LiveInterval or a HostInterval.
  enum Event { kFetch, kBegin, kOffload, kEnd, kHostEnd, kEvents };

  RunId RunCount() const { return static_cast<RunId>(program_.runs.size()); }
  int32_t StepCount() const { return static_cast<int32_t>(plan_.steps.size()); }

  static size_t Key(RunId r, Event event) { return kEvents * static_cast<size_t>(r) + event; }

  template <typename Add>
  void FindEvents(const Add& add) const {
    for (int32_t i = 0; i < static_cast<int32_t>(lives_.intervals.size()); ++i) {
      const LiveInterval& interval = lives_.intervals[i];
      if (IsPart(graph_, interval)) continue;  // it begins and ends with its neighbours
      if (interval.begin != kNone) {
        add(Key(interval.begin, interval.fetched_for != kNone ? kFetch : kBegin), i);
      }
      if (interval.end < RunCount()) add(Key(interval.end, kEnd), i);
    }
    for (int32_t i = 0; i < static_cast<int32_t>(lives_.host.size()); ++i) {
      for (const RunId r : lives_.host[i].offloads) add(Key(r, kOffload), i);
      if (lives_.host[i].end < RunCount()) add(Key(lives_.host[i].end, kHostEnd), i);
    }
  }

  void EmitRun(RunId r) {
    out_.run_starts.push_back(StepCount());
    for (const int32_t i : SortedByFirstUse(events_[Key(r, kFetch)])) {
      const LiveInterval* part = PartAt(i - 1);
      const int64_t kept = part != nullptr ? part->bytes : 0;
      if (part != nullptr) EndPart(*part, lives_.intervals[i]);
      Begin(lives_.intervals[i], kept);
      const TensorId tensor = lives_.intervals[i].tensor;
      const Tier from = FindHostInterval(lives_, tensor)->tier;
      EmitCopy(from, Tier::kDevice, PrefetchLane(from), tensor, kept);
    }
    for (const int32_t i : events_[Key(r, kBegin)]) Begin(lives_.intervals[i]);
    EmitOperation(program_.runs[r]);
    for (const int32_t i : events_[Key(r, kOffload)]) {
      const HostInterval& stay = lives_.host[i];
      if (!stay.home && stay.offloads.front() == r) {
        Open(stay.tensor, stay.tier, i, Aligned(graph_.tensors[stay.tensor].bytes), &out_.host);
      }
      EmitCopy(Tier::kDevice, stay.tier, OffloadLane(stay.tier), stay.tensor, stay.from);
    }
    for (const bool in_part : {false, true}) {  // parts last: alone in their range then
      for (const int32_t i : events_[Key(r, kEnd)]) {
        const LiveInterval& interval = lives_.intervals[i];
        const LiveInterval* part = PartAt(i + 1);
        if ((part != nullptr) != in_part) continue;
        Emit(StepKind::kFree, Tier::kDevice, interval.tensor);
        out_.device[interval.block].end = std::max(out_.device[interval.block].end, StepCount());
        if (in_part) BeginPart(interval, *part);
      }
    }
    for (const int32_t i : events_[Key(r, kHostEnd)]) {
      Emit(StepKind::kFree, lives_.host[i].tier, lives_.host[i].tensor);
      out_.host[i].end = StepCount();
    }
  }

  /// The interval number `i` if it is that of a part, or null.
  const LiveInterval* PartAt(int32_t i) const {
    if (i < 0 || i == std::ssize(lives_.intervals)) return nullptr;
    return IsPart(graph_, lives_.intervals[i]) ? &lives_.intervals[i] : nullptr;
  }

  std::vector<int32_t> SortedByFirstUse(std::span<const int32_t> fetched) const {
    std::vector<int32_t> sorted(fetched.begin(), fetched.end());
    std::stable_sort(sorted.begin(), sorted.end(), [this](int32_t a, int32_t b) {
      return lives_.intervals[a].fetched_for < lives_.intervals[b].fetched_for;
    });
    return sorted;
  }

  void EmitOperation(const Run& run) {
    Step step;
    step.kind = StepKind::kRun;
    step.op = run.op;
    step.variant = run.variant;
    step.algorithm = run.algorithm;
    step.recompute = run.recompute;
    if (graph_.ops[run.op].kind == OpKind::kFeed) step.lane = Lane::kLoad;
    plan_.steps.push_back(step);
  }

  /// Emits a step about the bytes of the tensor from `begin` to its end.
  Step& Emit(StepKind kind, Tier tier, TensorId tensor, int64_t begin = 0) {
    Step step;
    step.kind = kind;
    step.tier = tier;
    step.tensor = tensor;
    step.begin = begin;
    step.end = graph_.tensors[tensor].bytes;
    plan_.steps.push_back(step);
    return plan_.steps.back();
  }

  void EmitCopy(Tier from, Tier to, Lane lane, TensorId tensor, int64_t begin) {
    Step& step = Emit(StepKind::kCopy, to, tensor, begin);
    step.from = from;
    step.lane = lane;
  }

  /// Emits the Alloc or Alias of an interval, whose first `kept` bytes are on the device already.
  void Begin(const LiveInterval& interval, int64_t kept = 0) {
    if (interval.on != kNone) {
      Step& alias = Emit(StepKind::kAlias, Tier::kDevice, interval.tensor);
      alias.on = interval.on;
      alias.end = 0;
    } else {
      Open(interval.tensor, Tier::kDevice, interval.block, interval.bytes, &out_.device, kept);
    }
    if (interval.end == RunCount()) {
      out_.device[interval.block].end = kToTheEnd;
    }
  }

  /// Turns the Free just emitted into one that leaves a part. Its offset is the number of the
  /// part's range until that is placed.
  void BeginPart(const LiveInterval& before, const LiveInterval& part) {
    plan_.steps.back().offset = part.block;
    plan_.steps.back().begin = part.bytes;
    out_.device[part.block] = {part.bytes, StepCount(), kToTheEnd};
    out_.follows[part.block] = before.block;
  }

  void EndPart(const LiveInterval& part, const LiveInterval& after) {
    out_.device[part.block].end = StepCount();
    out_.follows[after.block] = part.block;
  }

  /// Emits the Alloc of range number `range`; its offset is that number until it is placed.
  void Open(TensorId tensor, Tier tier, int32_t range, int64_t bytes,
            std::vector<Interval>* intervals, int64_t kept = 0) {
    (*intervals)[range].bytes = bytes;
    (*intervals)[range].begin = StepCount();
    Emit(StepKind::kAlloc, tier, tensor, kept).offset = range;
  }

  const Graph& graph_;
  const Program& program_;
  const Lifetimes& lives_;
  Emitted out_;
  Plan& plan_;
  Buckets<int32_t> events_;  ///< by Key: indices into Lifetimes::intervals or ::host
};

}  // namespace

Emitted EmitSteps(const Graph& graph, const Program& program, const Lifetimes& lives) {
  return Emitter(graph, program, lives).EmitAll();
}

}  // namespace layrub::placement::schedule
