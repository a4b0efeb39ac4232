#include "layrub/placement/schedule/waits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "layrub/placement/ir/plan_walk.hpp"

namespace layrub::placement::schedule {
namespace {

/// For each lane, the number in the plan of the last of its steps that is known to have finished;
/// kNone: none.
using LaneClock = std::array<int32_t, kLanes>;
constexpr LaneClock kStart = kNoSteps;

/// The bytes of an access, from the place numbered `first` up to `last`. A place is an offset of a
/// tier at which some access begins or ends; places are numbered in order of offset.
struct Range {
  int32_t first = 0;
  int32_t last = 0;
};

struct Access {
  Tier tier = Tier::kDevice;
  Range range;
  bool writes = false;
};

/// The steps that touched each byte of a tier last. Older accesses need no entry: they are ordered
/// before the last write.
class Touched {
 public:
  /// `offsets`: where accesses begin and end, in any order.
  void SetPlaces(std::vector<int64_t> offsets) {
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    offsets_ = std::move(offsets);
    cells_.resize(offsets_.size());
    begins_.resize(offsets_.size() / 64 + 1);
    begins_.front() = 1;
  }
  Range RangeOf(int64_t begin, int64_t end) const { return {PlaceOf(begin), PlaceOf(end)}; }

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

  /// Notes `access` by step `step` of `lane`. Collect must have been called for it before.
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

  /// The first cell after `place`; the last place if there is none.
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
  WaitAdder(const Graph& graph, Plan* plan) : plan_(*plan) {
    lane_clock_.fill(kStart);
    std::array<std::vector<int64_t>, kTiers> offsets;
    offsets.fill({0});
    for (PlanWalk walk(graph, plan_); walk.Next();) {
      for (const layrub::Access& access : walk.accesses()) {
        if (walk.IsResident(access)) continue;  // one lane alone touches it
        const Tier tier = walk.ranges()[access.range].tier;
        accesses_.push_back({walk.number(), tier, access.begin, access.end, access.writes});
        offsets[Index(tier)].push_back(access.begin);
        offsets[Index(tier)].push_back(access.end);
      }
    }
    for (size_t tier = 0; tier < offsets.size(); ++tier)
      touched_[tier].SetPlaces(std::move(offsets[tier]));
  }

  void Run() {
    const auto step_count = static_cast<int32_t>(plan_.steps.size());
    number_.resize(step_count);
    finished_with_.resize(step_count);
    auto next = accesses_.begin();
    for (int32_t i = 0; i < step_count; ++i) {
      at_hand_.clear();
      for (; next != accesses_.end() && next->step == i; ++next) {
        const Range range = touched_[Index(next->tier)].RangeOf(next->begin, next->end);
        at_hand_.push_back({next->tier, range, next->writes});
      }
      if (IsTimed(plan_.steps[i].kind)) AddWaitsFor(plan_.steps[i], i);
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
  /// Bytes that step `step` touches.
  struct StepAccess {
    int32_t step;
    Tier tier;
    int64_t begin;
    int64_t end;
    bool writes;
  };

  static bool IsTimed(StepKind kind) {
    return kind != StepKind::kAlloc && kind != StepKind::kFree && kind != StepKind::kAlias;
  }

  void AddWaitsFor(const Step& step, int32_t number) {
    LaneClock needed = kStart;
    for (const Access& access : at_hand_)
      touched_[Index(access.tier)].Collect(access, plan_.steps, &needed);
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
    for (const Access& access : at_hand_)
      touched_[Index(access.tier)].Note(access, number, step.lane);
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

  /// Whether waiting for the needed step of another lane covers the needed step of `lane`.
  bool IsImplied(const LaneClock& needed, const LaneClock& before, int lane) const {
    for (int other = 0; other < kLanes; ++other) {
      if (other == lane || needed[other] <= before[other]) continue;
      if (finished_with_[needed[other]][lane] >= needed[lane]) return true;
    }
    return false;
  }

  Plan& plan_;
  std::vector<StepAccess> accesses_;     ///< in order of steps
  std::array<Touched, kTiers> touched_;  ///< by tier
  std::array<LaneClock, kLanes>
      lane_clock_;                        ///< by lane: what has finished when its next step begins
  std::vector<LaneClock> finished_with_;  ///< by step: what has finished when it has finished
  std::vector<Access> at_hand_;           ///< of the current step
  std::vector<NewWait> waits_;            ///< in order
  std::vector<int32_t> number_;           ///< by step: its number with the Waits so far
};

}  // namespace

void AddWaits(const Graph& graph, Plan* plan) {
  const bool one_lane = std::all_of(plan->steps.begin(), plan->steps.end(),
                                    [](const Step& step) { return step.lane == Lane::kCompute; });
  if (!one_lane) WaitAdder(graph, plan).Run();
}

}  // namespace layrub::placement::schedule
