#include "layrub/placement/schedule.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "layrub/placement/buckets.hpp"
#include "layrub/placement/pack.hpp"
#include "layrub/placement/waits.hpp"

namespace layrub {
namespace {

/// Writes the steps of a plan, without offsets and Waits, and notes when each block is in use.
class Emitter {
 public:
  Emitter(const Graph& graph, const Decision& decision, const Lifetimes& lives)
      : graph_(graph),
        decision_(decision),
        lives_(lives),
        device_(lives.blocks),
        host_(lives.host.size(), Interval{0, 0, kToTheEnd}),
        events_(kEvents * decision.runs.size(), [this](const auto& add) { FindEvents(add); }) {}

  void EmitAll() {
    plan_.steps.reserve(3 * lives_.residences.size() + 3 * host_.size() + decision_.runs.size());
    for (const bool persistent : {true, false}) {
      for (const Residence& residence : lives_.residences) {
        if (residence.begin != kNone) continue;
        if (graph_.tensors[residence.tensor].persistent == persistent) Begin(residence);
      }
    }
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
  }

  /// Sets offsets and arena sizes.
  Plan Place(int64_t padding) {
    plan_.device_bytes = Place(device_, padding, Tier::kDevice, decision_.enough_bytes);
    plan_.host_bytes = Place(host_, padding, Tier::kHost, 0);
    plan_.readable = lives_.readable;
    return std::move(plan_);
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
    for (const int32_t i : FirstNeededFirst(events_[Key(r, kFetch)])) {
      const TensorId t = lives_.residences[i].tensor;
      Begin(lives_.residences[i]);
      Emit(StepKind::kPrefetch, Tier::kDevice, t).lane = Lane::kLoad;
    }
    for (const int32_t i : events_[Key(r, kBegin)]) Begin(lives_.residences[i]);
    EmitCompute(decision_.runs[r]);
    for (const int32_t i : events_[Key(r, kOffload)]) {
      const HostStay& stay = lives_.host[i];
      if (stay.offloads.front() == r) {
        Open(stay.tensor, Tier::kHost, i, Aligned(graph_.tensors[stay.tensor].bytes), &host_);
      }
      Emit(StepKind::kOffload, Tier::kDevice, stay.tensor).lane = Lane::kSave;
    }
    for (const int32_t i : events_[Key(r, kEnd)]) {
      const Residence& residence = lives_.residences[i];
      Emit(StepKind::kFree, Tier::kDevice, residence.tensor);
      device_[residence.block].end = std::max(device_[residence.block].end, StepCount());
    }
    for (const int32_t i : events_[Key(r, kHostEnd)]) {
      Emit(StepKind::kFree, Tier::kHost, lives_.host[i].tensor);
      host_[i].end = StepCount();
    }
  }

  std::vector<int32_t> FirstNeededFirst(std::span<const int32_t> fetched) const {
    std::vector<int32_t> sorted(fetched.begin(), fetched.end());
    std::stable_sort(sorted.begin(), sorted.end(), [this](int32_t a, int32_t b) {
      return lives_.residences[a].fetched_for < lives_.residences[b].fetched_for;
    });
    return sorted;
  }

  void EmitCompute(const Run& run) {
    Step step;
    step.op = run.op;
    switch (graph_.ops[run.op].kind) {
      case OpKind::kFill:
        step.kind = StepKind::kFill;
        break;
      case OpKind::kUpdate:
        step.kind = StepKind::kUpdate;
        break;
      case OpKind::kFeed:
        step.kind = StepKind::kFeed;
        step.lane = Lane::kLoad;
        step.tensor = graph_.ops[run.op].forms[0].writes[0];
        break;
      case OpKind::kCompute:
        step.kind = run.recompute ? StepKind::kRecompute : StepKind::kCompute;
        break;
    }
    if (step.kind != StepKind::kFill && step.kind != StepKind::kFeed) {
      step.form = run.form;
      step.scratch = run.scratch;
    }
    plan_.steps.push_back(step);
  }

  Step& Emit(StepKind kind, Tier tier, TensorId tensor) {
    Step step;
    step.kind = kind;
    step.tier = tier;
    step.tensor = tensor;
    plan_.steps.push_back(step);
    return plan_.steps.back();
  }

  void Begin(const Residence& residence) {
    if (residence.on != kNone) {
      Emit(StepKind::kAlias, Tier::kDevice, residence.tensor).on = residence.on;
    } else {
      Open(residence.tensor, Tier::kDevice, residence.block, residence.bytes, &device_);
    }
    if (residence.end == RunCount()) {
      device_[residence.block].end = kToTheEnd;
    }
  }

  /// Emits the Alloc of range number `range`; its offset is that number until Place replaces it.
  void Open(TensorId tensor, Tier tier, int32_t range, int64_t bytes,
            std::vector<Interval>* intervals) {
    (*intervals)[range].bytes = bytes;
    (*intervals)[range].begin = StepCount();
    Emit(StepKind::kAlloc, tier, tensor).offset = range;
  }

  /// Persistent tensors lie at the bottom: their bytes are the ones that hold between iterations.
  int64_t Place(std::vector<Interval> intervals, int64_t padding, Tier tier, int64_t enough_bytes) {
    const bool device = tier == Tier::kDevice;
    int32_t start = 0;  // the Allocs before the first run happen at one moment
    while (device && start < StepCount() && plan_.steps[start].kind == StepKind::kAlloc) ++start;
    std::vector<int32_t> position(intervals.size());  // of each range among the sorted ones
    std::vector<Interval> sorted;
    for (const bool persistent : {true, false}) {
      for (const Step& step : plan_.steps) {
        if (step.kind != StepKind::kAlloc || step.tier != tier) continue;
        if (graph_.tensors[step.tensor].persistent != persistent) continue;
        Interval interval = intervals[step.offset];
        interval.bytes = Aligned(interval.bytes + padding);
        interval.begin = std::max(interval.begin, start);
        interval.end = std::min(interval.end, StepCount() + 1);
        position[step.offset] = static_cast<int32_t>(sorted.size());
        sorted.push_back(interval);
      }
    }
    const Packing packing = Pack(sorted, enough_bytes);
    for (Step& step : plan_.steps) {
      if (step.kind == StepKind::kAlloc && step.tier == tier) {
        step.offset = packing.offsets[position[step.offset]];
      }
    }
    return packing.bytes;
  }

  static constexpr int32_t kToTheEnd = std::numeric_limits<int32_t>::max();

  const Graph& graph_;
  const Decision& decision_;
  const Lifetimes& lives_;
  std::vector<Interval> device_;  ///< by block
  std::vector<Interval> host_;    ///< by index into Lifetimes::host
  Buckets<int32_t> events_;       ///< by Key: indices into Lifetimes::residences or ::host
  Plan plan_;
};

}  // namespace

Plan PackSteps(const Graph& graph, const Decision& decision, const Lifetimes& lives,
               int64_t padding) {
  Emitter emitter(graph, decision, lives);
  emitter.EmitAll();
  return emitter.Place(padding);
}

Result<Plan> Schedule(const Graph& graph, const Decision& decision, int64_t padding) {
  const Result<Lifetimes> lives = FindLifetimes(graph, decision);
  if (!lives.ok()) return lives.status();
  Plan plan = PackSteps(graph, decision, lives.value(), padding);
  AddWaits(graph, &plan);
  return plan;
}

}  // namespace layrub
