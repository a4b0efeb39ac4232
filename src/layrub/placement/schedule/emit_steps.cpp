#include "layrub/placement/schedule/emit_steps.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "layrub/placement/ir/buckets.hpp"

namespace layrub::placement::schedule {
namespace {

using pack::Interval;

/// Writes the steps of a plan, without offsets and Waits, and notes when each block is in use.
class Emitter {
 public:
  Emitter(const Graph& graph, const Decision& decision, const Lifetimes& lives)
      : graph_(graph),
        decision_(decision),
        lives_(lives),
        plan_(out_.plan),
        events_(kEvents * decision.runs.size(), [this](const auto& add) { FindEvents(add); }) {
    out_.device.resize(lives.blocks);
    out_.follows.assign(lives.blocks, kNone);
    out_.host.assign(lives.host.size(), Interval{0, 0, kToTheEnd});
  }

  Emitted EmitAll() {
    plan_.steps.reserve(3 * lives_.residences.size() + 3 * out_.host.size() +
                        decision_.runs.size());
    for (const Residence& residence : lives_.residences) {
      if (residence.begin != kNone) continue;
      if (graph_.tensors[residence.tensor].is_state()) {
        plan_.homes.push_back({residence.tensor, Tier::kDevice, residence.block});
        out_.device[residence.block] = {residence.bytes, 0, kToTheEnd};
      } else {
        Begin(residence);
      }
    }
    for (size_t i = 0; i < lives_.host.size(); ++i) {
      const HostStay& stay = lives_.host[i];
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
      if (decision_.runs[r].recompute) continue;
      pass = static_cast<size_t>(graph_.ops[decision_.runs[r].op].pass);
      end_pass();
    }
    end_pass();
    plan_.readable = lives_.readable;
    return std::move(out_);
  }

 private:
  /// What happens around a run, to one of Lifetimes::residences or of Lifetimes::host.
  enum Event { kFetch, kBegin, kOffload, kEnd, kHostEnd, kEvents };

  RunId RunCount() const { return static_cast<RunId>(decision_.runs.size()); }
  int32_t StepCount() const { return static_cast<int32_t>(plan_.steps.size()); }

  static size_t Key(RunId r, Event event) { return kEvents * static_cast<size_t>(r) + event; }

  template <typename Add>
  void FindEvents(const Add& add) const {
    for (int32_t i = 0; i < static_cast<int32_t>(lives_.residences.size()); ++i) {
      const Residence& residence = lives_.residences[i];
      if (residence.part) continue;
      if (residence.begin != kNone) {
        add(Key(residence.begin, residence.fetched_for != kNone ? kFetch : kBegin), i);
      }
      if (residence.end < RunCount()) add(Key(residence.end, kEnd), i);
    }
    for (int32_t i = 0; i < static_cast<int32_t>(lives_.host.size()); ++i) {
      for (const RunId r : lives_.host[i].offloads) add(Key(r, kOffload), i);
      if (lives_.host[i].end < RunCount()) add(Key(lives_.host[i].end, kHostEnd), i);
    }
  }

  void EmitRun(RunId r) {
    out_.run_starts.push_back(StepCount());
    for (const int32_t i : FirstNeededFirst(events_[Key(r, kFetch)])) {
      const bool goes_on = i > 0 && lives_.residences[i - 1].part;
      const int64_t kept = goes_on ? lives_.residences[i - 1].bytes : 0;
      if (goes_on) EndPart(lives_.residences[i - 1], lives_.residences[i]);
      Begin(lives_.residences[i], kept);
      const TensorId tensor = lives_.residences[i].tensor;
      const Tier from = StayOf(tensor).tier;
      EmitCopy(from, Tier::kDevice, PrefetchLane(from), tensor, kept);
    }
    for (const int32_t i : events_[Key(r, kBegin)]) Begin(lives_.residences[i]);
    EmitOperation(decision_.runs[r]);
    for (const int32_t i : events_[Key(r, kOffload)]) {
      const HostStay& stay = lives_.host[i];
      if (!stay.home && stay.offloads.front() == r) {
        Open(stay.tensor, stay.tier, i, Aligned(graph_.tensors[stay.tensor].bytes), &out_.host);
      }
      EmitCopy(Tier::kDevice, stay.tier, OffloadLane(stay.tier), stay.tensor, stay.from);
    }
    for (const bool in_part : {false, true}) {  // which is alone in its range then
      for (const int32_t i : events_[Key(r, kEnd)]) {
        const Residence& residence = lives_.residences[i];
        const Residence* part = i + 1 < std::ssize(lives_.residences) ? &residence + 1 : nullptr;
        if (part != nullptr && !part->part) part = nullptr;
        if ((part != nullptr) != in_part) continue;
        Emit(StepKind::kFree, Tier::kDevice, residence.tensor);
        out_.device[residence.block].end = std::max(out_.device[residence.block].end, StepCount());
        if (in_part) BeginPart(residence, *part);
      }
    }
    for (const int32_t i : events_[Key(r, kHostEnd)]) {
      Emit(StepKind::kFree, lives_.host[i].tier, lives_.host[i].tensor);
      out_.host[i].end = StepCount();
    }
  }

  /// That of a tensor that has one.
  const HostStay& StayOf(TensorId t) const {
    return *std::lower_bound(lives_.host.begin(), lives_.host.end(), t,
                             [](const HostStay& stay, TensorId of) { return stay.tensor < of; });
  }

  std::vector<int32_t> FirstNeededFirst(std::span<const int32_t> fetched) const {
    std::vector<int32_t> sorted(fetched.begin(), fetched.end());
    std::stable_sort(sorted.begin(), sorted.end(), [this](int32_t a, int32_t b) {
      return lives_.residences[a].fetched_for < lives_.residences[b].fetched_for;
    });
    return sorted;
  }

  void EmitOperation(const Run& run) {
    Step step;
    step.kind = StepKind::kRun;
    step.op = run.op;
    step.form = run.form;
    step.scratch = run.scratch;
    step.again = run.recompute;
    if (graph_.ops[run.op].kind == OpKind::kFeed) step.lane = Lane::kLoad;
    plan_.steps.push_back(step);
  }

  /// Of bytes [begin, end of the tensor).
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

  /// The first `kept` bytes are there.
  void Begin(const Residence& residence, int64_t kept = 0) {
    if (residence.on != kNone) {
      Step& alias = Emit(StepKind::kAlias, Tier::kDevice, residence.tensor);
      alias.on = residence.on;
      alias.end = 0;
    } else {
      Open(residence.tensor, Tier::kDevice, residence.block, residence.bytes, &out_.device, kept);
    }
    if (residence.end == RunCount()) {
      out_.device[residence.block].end = kToTheEnd;
    }
  }

  /// After its Free, the offset of which is the number of the part's range until it is placed.
  void BeginPart(const Residence& before, const Residence& part) {
    plan_.steps.back().offset = part.block;
    plan_.steps.back().begin = part.bytes;
    out_.device[part.block] = {part.bytes, StepCount(), kToTheEnd};
    out_.follows[part.block] = before.block;
  }

  void EndPart(const Residence& part, const Residence& after) {
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
  const Decision& decision_;
  const Lifetimes& lives_;
  Emitted out_;
  Plan& plan_;
  Buckets<int32_t> events_;  ///< by Key: indices into Lifetimes::residences or ::host
};

}  // namespace

Emitted EmitSteps(const Graph& graph, const Decision& decision, const Lifetimes& lives) {
  return Emitter(graph, decision, lives).EmitAll();
}

}  // namespace layrub::placement::schedule
