#include "layrub/placement/schedule/schedule.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/ir/buckets.hpp"
#include "layrub/placement/pack/pack.hpp"
#include "layrub/placement/pack/pack_compacting.hpp"
#include "layrub/placement/schedule/waits.hpp"

namespace layrub::placement::schedule {
namespace {

using pack::Interval;
using pack::Movable;
using pack::MovingPacking;
using pack::Packing;
using pack::Shift;

/// Writes the steps of a plan, without offsets and Waits, and notes when each block is in use.
class Emitter {
 public:
  Emitter(const Graph& graph, const Decision& decision, const Lifetimes& lives)
      : graph_(graph),
        decision_(decision),
        lives_(lives),
        device_(lives.blocks),
        follows_(lives.blocks, kNone),
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

  Plan TakeSteps() { return std::move(plan_); }

  /// Sets offsets and arena sizes.
  Plan Place(int64_t padding) {
    plan_.host_bytes = Place(Sorted(host_, padding, Tier::kHost), Tier::kHost, 0);
    const Ranges device = Sorted(device_, padding, Tier::kDevice);
    plan_.device_bytes = decision_.may_move ? PlaceMoving(device)
                                            : Place(device, Tier::kDevice, decision_.enough_bytes);
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
    run_starts_.push_back(StepCount());
    for (const int32_t i : FirstNeededFirst(events_[Key(r, kFetch)])) {
      const bool goes_on = i > 0 && lives_.residences[i - 1].part;
      if (goes_on) EndPart(lives_.residences[i - 1], lives_.residences[i]);
      Begin(lives_.residences[i]);
      EmitCopy(StepKind::kPrefetch, Lane::kLoad, lives_.residences[i].tensor,
               goes_on ? lives_.residences[i - 1].bytes : 0);
    }
    for (const int32_t i : events_[Key(r, kBegin)]) Begin(lives_.residences[i]);
    EmitCompute(decision_.runs[r]);
    for (const int32_t i : events_[Key(r, kOffload)]) {
      const HostStay& stay = lives_.host[i];
      if (stay.offloads.front() == r) {
        Open(stay.tensor, Tier::kHost, i, Aligned(graph_.tensors[stay.tensor].bytes), &host_);
      }
      EmitCopy(StepKind::kOffload, Lane::kSave, stay.tensor, stay.from);
    }
    for (const bool in_part : {false, true}) {  // which is alone in its range then
      for (const int32_t i : events_[Key(r, kEnd)]) {
        const Residence& residence = lives_.residences[i];
        const Residence* part = i + 1 < std::ssize(lives_.residences) ? &residence + 1 : nullptr;
        if (part != nullptr && !part->part) part = nullptr;
        if ((part != nullptr) != in_part) continue;
        Emit(StepKind::kFree, Tier::kDevice, residence.tensor);
        device_[residence.block].end = std::max(device_[residence.block].end, StepCount());
        if (in_part) BeginPart(residence, *part);
      }
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

  void EmitCopy(StepKind kind, Lane lane, TensorId tensor, int64_t begin) {
    const int64_t all = graph_.tensors[tensor].bytes;
    const bool in_pieces = decision_.piece_bytes > 0 && decision_.piece_bytes < all - begin;
    const int64_t piece = in_pieces ? decision_.piece_bytes : all - begin;
    const bool split = in_pieces || begin > 0;
    do {
      Step& step = Emit(kind, Tier::kDevice, tensor);
      step.lane = lane;
      step.offset = begin;
      step.bytes = split ? std::min(piece, all - begin) : 0;
      begin += piece;
    } while (begin < all);
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

  /// After its Free, the offset of which is the number of the part's range until Place replaces it.
  void BeginPart(const Residence& before, const Residence& part) {
    plan_.steps.back().offset = part.block;
    plan_.steps.back().bytes = part.bytes;
    device_[part.block] = {part.bytes, StepCount(), kToTheEnd};
    follows_[part.block] = before.block;
  }

  void EndPart(const Residence& part, const Residence& after) {
    device_[part.block].end = StepCount();
    follows_[after.block] = part.block;
  }

  /// Emits the Alloc of range number `range`; its offset is that number until Place replaces it.
  void Open(TensorId tensor, Tier tier, int32_t range, int64_t bytes,
            std::vector<Interval>* intervals) {
    (*intervals)[range].bytes = bytes;
    (*intervals)[range].begin = StepCount();
    Emit(StepKind::kAlloc, tier, tensor).offset = range;
  }

  /// The ranges of a tier in the order in which they are packed.
  struct Ranges {
    std::vector<Interval> intervals;
    std::vector<int32_t> number;   ///< of each, in the tier
    std::vector<int32_t> follows;  ///< of each, the one whose first bytes go on in it, or kNone
  };

  /// Persistent tensors lie at the bottom: their bytes are the ones that hold between iterations.
  Ranges Sorted(const std::vector<Interval>& intervals, int64_t padding, Tier tier) const {
    const bool device = tier == Tier::kDevice;
    int32_t start = 0;  // the Allocs before the first run happen at one moment
    while (device && start < StepCount() && plan_.steps[start].kind == StepKind::kAlloc) ++start;
    Ranges sorted;
    for (const bool persistent : {true, false}) {
      for (const Step& step : plan_.steps) {
        if (!TakesRange(step) || step.tier != tier) continue;
        if (graph_.tensors[step.tensor].persistent != persistent) continue;
        Interval interval = intervals[step.offset];
        interval.bytes = Aligned(interval.bytes + padding);
        interval.begin = std::max(interval.begin, start);
        interval.end = std::min(interval.end, StepCount() + 1);
        sorted.number.push_back(static_cast<int32_t>(step.offset));
        sorted.intervals.push_back(interval);
      }
    }
    sorted.follows.assign(sorted.number.size(), kNone);
    if (!device) return sorted;
    std::vector<int32_t> place(device_.size());
    for (size_t i = 0; i < place.size(); ++i) place[sorted.number[i]] = static_cast<int32_t>(i);
    for (size_t i = 0; i < place.size(); ++i) {
      const int32_t before = follows_[sorted.number[i]];
      if (before != kNone) sorted.follows[i] = place[before];
    }
    return sorted;
  }

  /// Its offset is the number of a range until Place replaces it.
  static bool TakesRange(const Step& step) { return step.kind == StepKind::kAlloc || IsPart(step); }
  static bool IsPart(const Step& step) { return step.kind == StepKind::kFree && step.bytes > 0; }

  /// As if what goes on had the whole range all the time.
  static Packing PackJoined(const Ranges& ranges, int64_t enough_bytes) {
    const size_t count = ranges.intervals.size();
    std::vector<Interval> joined;
    std::vector<int32_t> index(count);
    for (size_t i = 0; i < count; ++i) {  // what is followed comes before
      const int32_t before = ranges.follows[i];
      index[i] = before == kNone ? static_cast<int32_t>(joined.size()) : index[before];
      if (before == kNone) joined.push_back(ranges.intervals[i]);
      joined[index[i]].end = ranges.intervals[i].end;
    }
    Packing packing = pack::Pack(joined, enough_bytes);
    std::vector<int64_t> offsets(count);
    for (size_t i = 0; i < count; ++i) offsets[i] = packing.offsets[index[i]];
    packing.offsets = std::move(offsets);
    return packing;
  }

  int64_t Place(const Ranges& ranges, Tier tier, int64_t enough_bytes) {
    const Packing packing = PackJoined(ranges, enough_bytes);
    SetOffsets(ranges, packing, tier);
    return packing.bytes;
  }

  void SetOffsets(const Ranges& ranges, const Packing& packing, Tier tier) {
    std::vector<int64_t> offsets(ranges.number.size());
    for (size_t i = 0; i < offsets.size(); ++i) offsets[ranges.number[i]] = packing.offsets[i];
    for (Step& step : plan_.steps) {
      if (!TakesRange(step) || step.tier != tier) continue;
      step.offset = IsPart(step) ? 0 : offsets[step.offset];
    }
  }

  /// With Moves where packing in one go takes too much, and Moves help.
  int64_t PlaceMoving(const Ranges& ranges) {
    const int64_t enough = decision_.enough_bytes;
    const bool timed = !decision_.timings.ranges.empty();
    Packing at_once;
    std::optional<MovingPacking> found;
    if (timed) found = PackBetweenRuns(ranges, enough);
    if (!found) {
      at_once = PackJoined(ranges, std::numeric_limits<int64_t>::max());
      if (at_once.bytes > enough && !timed) found = PackBetweenRuns(ranges, enough);
    }
    const Packing& packing = found ? found->packing : at_once;
    SetOffsets(ranges, packing, Tier::kDevice);
    if (found && !found->shifts.empty()) EmitMoves(ranges, found->shifts);
    return packing.bytes;
  }

  std::optional<MovingPacking> PackBetweenRuns(const Ranges& ranges, int64_t enough) const {
    // In half steps, with a moment of its own before each run's first step.
    std::vector<Interval> intervals = ranges.intervals;
    for (Interval& interval : intervals) {
      interval.begin = 2 * interval.begin;
      interval.end = 2 * interval.end - 1;
    }
    std::vector<int32_t> moments;
    for (const int32_t start : run_starts_) moments.push_back(2 * start - 1);
    std::vector<Movable> movable;
    Timings timings = decision_.timings;
    timings.ranges.clear();
    const std::vector<Movable> by_block = FindMovable();
    for (const int32_t block : ranges.number) {
      movable.push_back(by_block[block]);
      if (!decision_.timings.ranges.empty())
        timings.ranges.push_back(decision_.timings.ranges[block]);
    }
    return pack::PackCompacting(intervals, movable, moments, timings, kAlignment, enough,
                                ranges.follows);
  }

  /// By block: before which runs it may be moved, as moments. One tensor alone is in it then, no
  /// smaller than the block, which others may still lie on. It has settled once it has been used;
  /// before that, a copy may be on its way there.
  std::vector<Movable> FindMovable() const {
    struct Runs {
      RunId first = kNone;
      RunId settled = kNone;
      RunId last = kNone;
      RunId most = std::numeric_limits<RunId>::max();
    };
    std::vector<Runs> runs(lives_.blocks);
    for (const Residence& residence : lives_.residences) {
      Runs& block = runs[residence.block];
      if (residence.part) {
        block = {residence.begin + 1, residence.begin + 1, residence.end};
        continue;
      }
      if (residence.on == kNone) {
        block.settled = FirstUse(residence) + 1;
        block.first = residence.fetched_for != kNone ? residence.begin + 1 : block.settled;
      }
      if (Aligned(graph_.tensors[residence.tensor].bytes) < residence.bytes)
        block.most = std::min(block.most, residence.begin);
      if (residence.begin == kNone) block.most = kNone;
      block.last = std::max(block.last, std::min(residence.end, RunCount() - 1));
    }
    std::vector<Movable> movable(runs.size());
    const auto moment = [this](RunId r) {
      return r < RunCount() ? 2 * run_starts_[r] - 1 : kToTheEnd;
    };
    for (size_t i = 0; i < runs.size(); ++i) {
      const auto [first, settled, last, most] = runs[i];
      if (first <= std::min(last, most) && most >= 0)
        movable[i] = {moment(first), moment(std::min(last, most)), moment(settled)};
    }
    return movable;
  }

  RunId FirstUse(const Residence& residence) const {
    for (const Gap& gap : decision_.tensors[residence.tensor].gaps) {
      if (gap.prefetch == residence.begin) return gap.before;
    }
    return residence.begin;
  }

  void EmitMoves(const Ranges& ranges, const std::vector<Shift>& shifts) {
    std::vector<Step> steps;
    steps.reserve(plan_.steps.size() + shifts.size());
    auto shift = shifts.begin();
    for (int32_t i = 0; i < StepCount(); ++i) {
      for (; shift != shifts.end() && shift->at == 2 * i - 1; ++shift) {
        const Residence& residence = ResidenceIn(ranges.number[shift->interval], i);
        Step step;
        step.kind = StepKind::kMove;
        step.tensor = residence.tensor;
        step.offset = shift->offset;
        step.bytes = residence.part ? residence.bytes : 0;
        steps.push_back(step);
      }
      steps.push_back(plan_.steps[i]);
    }
    for (int32_t& end : plan_.pass_end) {
      const int32_t last = end;
      end += static_cast<int32_t>(std::count_if(
          shifts.begin(), shifts.end(), [&](const Shift& s) { return s.at < 2 * last - 1; }));
    }
    plan_.steps = std::move(steps);
  }

  /// What is in a block, alone, when the run begins whose first step is `at`.
  const Residence& ResidenceIn(int32_t block, int32_t at) const {
    const auto start = std::lower_bound(run_starts_.begin(), run_starts_.end(), at);
    const auto r = static_cast<RunId>(start - run_starts_.begin());
    const auto is_in = [&](const Residence& residence) {
      return residence.block == block && residence.begin < r && r <= residence.end;
    };
    return *std::find_if(lives_.residences.begin(), lives_.residences.end(), is_in);
  }

  static constexpr int32_t kToTheEnd = std::numeric_limits<int32_t>::max();

  const Graph& graph_;
  const Decision& decision_;
  const Lifetimes& lives_;
  std::vector<Interval> device_;     ///< by block
  std::vector<int32_t> follows_;     ///< by block: the one whose first bytes go on in it, or kNone
  std::vector<Interval> host_;       ///< by index into Lifetimes::host
  std::vector<int32_t> run_starts_;  ///< by run: its first step
  Buckets<int32_t> events_;          ///< by Key: indices into Lifetimes::residences or ::host
  Plan plan_;
};

}  // namespace

Plan StepsOf(const Graph& graph, const Decision& decision, const Lifetimes& lives) {
  Emitter emitter(graph, decision, lives);
  emitter.EmitAll();
  return emitter.TakeSteps();
}

Plan PackSteps(const Graph& graph, const Decision& decision, const Lifetimes& lives,
               int64_t padding) {
  Emitter emitter(graph, decision, lives);
  emitter.EmitAll();
  return emitter.Place(padding);
}

Result<Plan> Schedule(const Graph& graph, const Decision& decision, int64_t padding) {
  const Result<Lifetimes> lives = FindLifetimes(graph, decision);
  if (!lives.ok()) return lives.status();
  const auto blocks = static_cast<size_t>(lives.value().blocks);
  const size_t timed = decision.timings.ranges.size();
  if (timed != 0 && timed != blocks)
    return Status::Invalid("the decision has the timings of " + std::to_string(timed) +
                           " ranges, not of its " + std::to_string(blocks));
  Plan plan = PackSteps(graph, decision, lives.value(), padding);
  AddWaits(graph, &plan);
  return plan;
}

}  // namespace layrub::placement::schedule
