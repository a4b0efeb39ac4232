#include "layrub/placement/schedule/waits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace layrub::placement::schedule {
namespace {

/// For each lane, the last of its steps (by number in the plan) that is known to have finished;
/// kNone: none.
using LaneClock = std::array<int32_t, kLanes>;
constexpr LaneClock kStart = kNoSteps;

/// What a tensor's range or an access covers: from the place numbered `first` up to `last`. Places
/// are the offsets of a tier at which some range, or part that is copied, begins or ends, in
/// order.
struct Range {
  int32_t first = 0;
  int32_t last = 0;  ///< == first: nothing
};

struct Access {
  Tier tier = Tier::kDevice;
  Range range;
  bool writes = false;
};

/// Who touched each byte of a tier last. An older access needs no entry: it is ordered before the
/// last write.
class Touched {
 public:
  /// `offsets`: where ranges begin and end, in any order.
  void SetPlaces(std::vector<int64_t> offsets) {
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    offsets_ = std::move(offsets);
    cells_.resize(offsets_.size());
    begins_.resize(offsets_.size() / 64 + 1);
    begins_.front() = 1;
  }
  Range RangeAt(int64_t offset, int64_t bytes) const {
    return {PlaceOf(offset), PlaceOf(offset + bytes)};
  }
  int64_t OffsetOf(const Range& range) const { return offsets_[range.first]; }

  /// Raises `needed` to the steps that have to finish before `access`.
  void Collect(const Access& access, const std::vector<Step>& steps, LaneClock* needed) {
    Cut(access.range.first);
    Cut(access.range.last);
    for (int32_t c = access.range.first; c < access.range.last; c = NextCell(c)) {
      const Cell& cell = cells_[c];
      if (cell.writer != kNone) {
        int32_t& need = (*needed)[Index(steps[cell.writer].lane)];
        need = std::max(need, cell.writer);
      }
      if (!access.writes) continue;
      for (int lane = 0; lane < kLanes; ++lane) {
        (*needed)[lane] = std::max((*needed)[lane], cell.readers[lane]);
      }
    }
  }

  /// Notes `access` by step `step` of `lane`; Collect was called for it before.
  void Note(const Access& access, int32_t step, Lane lane) {
    const auto [first, last] = access.range;
    if (access.writes) {
      cells_[first] = {step, kStart};
      for (int32_t c = NextCell(first); c < last; c = NextCell(c)) begins_[c / 64] &= ~Bit(c);
      return;
    }
    for (int32_t c = first; c < last; c = NextCell(c)) cells_[c].readers[Index(lane)] = step;
  }

 private:
  struct Cell {
    int32_t writer = kNone;      ///< the last step that wrote these bytes
    LaneClock readers = kStart;  ///< per lane, the last step that has read them since
  };

  static uint64_t Bit(int32_t place) { return uint64_t{1} << (place % 64); }

  int32_t PlaceOf(int64_t offset) const {
    const auto place = std::lower_bound(offsets_.begin(), offsets_.end(), offset);
    return static_cast<int32_t>(place - offsets_.begin());
  }

  /// The first cell behind `place`; the last place if there is none.
  int32_t NextCell(int32_t place) const {
    const auto end = static_cast<int32_t>(offsets_.size()) - 1;
    if (++place >= end) return end;
    auto word = static_cast<size_t>(place / 64);
    uint64_t bits = begins_[word] & ~(Bit(place) - 1);
    while (bits == 0 && ++word < begins_.size()) bits = begins_[word];
    return bits == 0 ? end : static_cast<int32_t>(word * 64) + std::countr_zero(bits);
  }

  /// Makes a cell begin at `place`.
  void Cut(int32_t place) {
    auto word = static_cast<size_t>(place / 64);
    if (begins_[word] & Bit(place)) return;
    uint64_t bits = begins_[word] & (Bit(place) - 1);
    begins_[word] |= Bit(place);
    while (bits == 0) bits = begins_[--word];
    cells_[place] = cells_[static_cast<int32_t>(word * 64) + 63 - std::countl_zero(bits)];
  }

  std::vector<int64_t> offsets_;  ///< by place
  std::vector<Cell> cells_;       ///< by place, where a cell begins; it ends where the next begins
  std::vector<uint64_t> begins_;  ///< a bit by place
};

class WaitAdder {
 public:
  WaitAdder(const Graph& graph, Plan* plan) : graph_(graph), plan_(*plan) {
    for (auto& ranges : range_of_) ranges.resize(graph.tensors.size());
    lane_clock_.fill(kStart);
  }

  void Run() {
    const auto step_count = static_cast<int32_t>(plan_.steps.size());
    FindPlaces();
    number_.resize(step_count);
    finished_with_.resize(step_count);
    for (int32_t i = 0; i < step_count; ++i) {
      const Step& step = plan_.steps[i];
      Bind(step);
      if (IsTimed(step.kind)) AddWaitsFor(step, i);
      number_[i] = i + static_cast<int32_t>(waits_.size());
    }
    MakeRoomForWaits();
  }

 private:
  /// A Wait to be inserted before step `before`; numbers of steps are those without Waits.
  struct NewWait {
    int32_t before;
    int32_t for_step;
  };

  static bool IsTimed(StepKind kind) {
    return kind != StepKind::kAlloc && kind != StepKind::kFree && kind != StepKind::kAlias;
  }

  int64_t BytesOf(TensorId t) const { return Aligned(graph_.tensors[t].bytes); }
  Range& RangeOf(Tier tier, TensorId t) { return range_of_[Index(tier)][t]; }

  void FindPlaces() {
    std::array<std::vector<int64_t>, 2> offsets{{{0}, {0}}};
    std::array<std::vector<int64_t>, 2> begins;
    begins.fill(std::vector<int64_t>(graph_.tensors.size()));
    const auto add = [&offsets](size_t tier, int64_t begin, int64_t bytes) {
      offsets[tier].push_back(begin);
      offsets[tier].push_back(begin + bytes);
    };
    for (const Step& step : plan_.steps) {
      const bool own = step.kind == StepKind::kAlloc || step.kind == StepKind::kMove;
      for (size_t tier = 0; step.bytes > 0 && !own && tier < offsets.size(); ++tier)
        add(tier, begins[tier][step.tensor] + step.offset, Aligned(step.bytes));
      if (!own && step.kind != StepKind::kAlias) continue;
      const auto tier = Index(step.tier);
      const int64_t begin = own ? step.offset : begins[tier][step.on];
      begins[tier][step.tensor] = begin;
      add(tier, begin, step.bytes > 0 ? step.bytes : BytesOf(step.tensor));
    }
    for (size_t tier = 0; tier < offsets.size(); ++tier) {
      touched_[tier].SetPlaces(std::move(offsets[tier]));
    }
  }

  /// State has no range here: one lane alone touches the bytes of homes.
  void Bind(const Step& step) {
    if (IsTimed(step.kind)) return;
    const Touched& tier = touched_[Index(step.tier)];
    if (step.kind == StepKind::kAlloc) {
      RangeOf(step.tier, step.tensor) = tier.RangeAt(step.offset, BytesOf(step.tensor));
    } else if (step.kind == StepKind::kFree && step.bytes > 0) {
      Range& range = RangeOf(step.tier, step.tensor);
      range = tier.RangeAt(tier.OffsetOf(range), step.bytes);
    } else if (step.kind == StepKind::kFree) {
      RangeOf(step.tier, step.tensor) = {};
    } else if (step.kind == StepKind::kAlias) {
      const int64_t offset = tier.OffsetOf(RangeOf(step.tier, step.on));
      RangeOf(step.tier, step.tensor) = tier.RangeAt(offset, BytesOf(step.tensor));
    }
  }

  void Add(Tier tier, TensorId t, bool writes) {
    const Range range = RangeOf(tier, t);
    if (range.first < range.last) accesses_.push_back({tier, range, writes});
  }

  void AddCopied(Tier tier, const Step& step, bool writes) {
    const Range range = RangeOf(tier, step.tensor);
    if (step.bytes == 0 || range.first == range.last) return Add(tier, step.tensor, writes);
    const Touched& touched = touched_[Index(tier)];
    const int64_t begin = touched.OffsetOf(range) + step.offset;
    accesses_.push_back({tier, touched.RangeAt(begin, Aligned(step.bytes)), writes});
  }

  /// Of a Move, also where its tensor is from then on.
  void FindAccesses(const Step& step) {
    accesses_.clear();
    if (step.kind == StepKind::kOffload || step.kind == StepKind::kPrefetch) {
      AddCopied(Tier::kDevice, step, step.kind == StepKind::kPrefetch);
      AddCopied(Tier::kHost, step, step.kind == StepKind::kOffload);
      return;
    }
    if (step.kind == StepKind::kMove) {
      Add(Tier::kDevice, step.tensor, false);
      const int64_t bytes = step.bytes > 0 ? step.bytes : BytesOf(step.tensor);
      RangeOf(Tier::kDevice, step.tensor) =
          touched_[Index(Tier::kDevice)].RangeAt(step.offset, bytes);
      Add(Tier::kDevice, step.tensor, true);
      return;
    }
    const Form& form = graph_.ops[step.op].forms[step.form];
    for (const TensorId t : form.reads) Add(Tier::kDevice, t, false);
    for (const TensorId t : form.writes) Add(Tier::kDevice, t, true);
    if (!form.scratch.empty() && form.scratch[step.scratch].tensor != kNone) {
      Add(Tier::kDevice, form.scratch[step.scratch].tensor, true);
    }
  }

  void AddWaitsFor(const Step& step, int32_t number) {
    FindAccesses(step);
    LaneClock needed = kStart;
    for (const Access& access : accesses_) {
      touched_[Index(access.tier)].Collect(access, plan_.steps, &needed);
    }
    LaneClock& now = lane_clock_[Index(step.lane)];
    const LaneClock before = now;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (needed[lane] <= before[lane] || IsImplied(needed, before, lane)) continue;
      waits_.push_back({number, needed[lane]});
      for (int other = 0; other < kLanes; ++other) {
        now[other] = std::max(now[other], finished_with_[needed[lane]][other]);
      }
    }
    now[Index(step.lane)] = number;
    finished_with_[number] = now;
    for (const Access& access : accesses_) {
      touched_[Index(access.tier)].Note(access, number, step.lane);
    }
  }

  /// Moves the steps, the last one first, to the numbers that they have with the Waits between
  /// them.
  void MakeRoomForWaits() {
    std::vector<Step>& steps = plan_.steps;
    const auto step_count = static_cast<int32_t>(steps.size());
    for (int32_t& end : plan_.pass_end) {
      const auto later = std::partition_point(waits_.begin(), waits_.end(),
                                              [end](const NewWait& w) { return w.before < end; });
      end += static_cast<int32_t>(later - waits_.begin());
    }
    steps.resize(steps.size() + waits_.size());
    for (int32_t i = step_count; i-- > 0 && !waits_.empty();) {
      int32_t to = number_[i];
      const Lane lane = steps[i].lane;
      steps[to] = steps[i];
      for (; !waits_.empty() && waits_.back().before == i; waits_.pop_back()) {
        Step& wait = steps[--to];
        wait = {};
        wait.kind = StepKind::kWait;
        wait.lane = lane;
        wait.step = number_[waits_.back().for_step];
      }
    }
  }

  /// Whether waiting for the step needed of another lane covers the one needed of `lane`.
  bool IsImplied(const LaneClock& needed, const LaneClock& before, int lane) const {
    for (int other = 0; other < kLanes; ++other) {
      if (other == lane || needed[other] <= before[other]) continue;
      if (finished_with_[needed[other]][lane] >= needed[lane]) return true;
    }
    return false;
  }

  const Graph& graph_;
  Plan& plan_;
  std::array<std::vector<Range>, 2> range_of_;  ///< by tier and tensor
  std::array<Touched, 2> touched_;              ///< by tier
  std::array<LaneClock, kLanes> lane_clock_;    ///< what the next step of each lane comes after
  std::vector<LaneClock> finished_with_;        ///< by step: what has finished once it has
  std::vector<Access> accesses_;                ///< of the step at hand
  std::vector<NewWait> waits_;                  ///< in order
  std::vector<int32_t> number_;                 ///< by step: its number with the Waits so far
};

}  // namespace

void AddWaits(const Graph& graph, Plan* plan) {
  const bool one_lane = std::all_of(plan->steps.begin(), plan->steps.end(),
                                    [](const Step& step) { return step.lane == Lane::kCompute; });
  if (!one_lane) WaitAdder(graph, plan).Run();
}

}  // namespace layrub::placement::schedule
