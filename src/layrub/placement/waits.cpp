#include "layrub/placement/waits.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

namespace layrub {
namespace {

/// For each lane, the last of its steps (by number in the plan) that is known to have finished;
/// kNone: none.
using Clock = std::array<int32_t, kLanes>;
constexpr Clock kStart{kNone, kNone, kNone};

size_t Index(Lane lane) { return static_cast<size_t>(lane); }

struct Access {
  Tier tier = Tier::kDevice;
  int64_t begin = 0;
  int64_t end = 0;
  bool writes = false;
};

/// Who touched each byte of a tier last. An older access needs no entry: it is ordered before the
/// last write.
class Touched {
 public:
  /// Raises `needed` to the steps that have to finish before `access`.
  void Collect(const Access& access, const std::vector<Step>& steps, Clock* needed) {
    Cut(access.begin);
    Cut(access.end);
    for (auto cell = cells_.find(access.begin); cell->first < access.end; ++cell) {
      if (const int32_t writer = cell->second.writer; writer != kNone) {
        int32_t& need = (*needed)[Index(steps[writer].lane)];
        need = std::max(need, writer);
      }
      if (!access.writes) continue;
      for (int lane = 0; lane < kLanes; ++lane) {
        (*needed)[lane] = std::max((*needed)[lane], cell->second.readers[lane]);
      }
    }
  }

  /// Notes `access` by step `step` of `lane`; Collect was called for it before.
  void Note(const Access& access, int32_t step, Lane lane) {
    auto cell = cells_.find(access.begin);
    if (access.writes) {
      cell->second = {step, kStart};
      cells_.erase(std::next(cell), cells_.find(access.end));
      return;
    }
    for (; cell->first < access.end; ++cell) cell->second.readers[Index(lane)] = step;
  }

 private:
  struct Cell {
    int32_t writer = kNone;  ///< the last step that wrote these bytes
    Clock readers = kStart;  ///< per lane, the last step that has read them since
  };

  /// Makes a cell begin at `at`.
  void Cut(int64_t at) {
    const auto next = cells_.upper_bound(at);
    const auto cell = std::prev(next);
    if (cell->first != at) cells_.emplace_hint(next, at, Cell(cell->second));
  }

  std::map<int64_t, Cell> cells_{
      {0, {}}};  ///< by first byte; a cell ends where the next one begins
};

class WaitAdder {
 public:
  WaitAdder(const Graph& graph, Plan* plan) : graph_(graph), plan_(*plan) {
    for (auto& offsets : offset_of_) offsets.resize(graph.tensors.size(), kNone);
    lane_clock_.fill(kStart);
  }

  void Run() {
    const std::vector<Step> old = std::exchange(plan_.steps, {});
    const std::array<int32_t, 3> old_end = plan_.pass_end;
    for (size_t i = 0; i < old.size(); ++i) {
      for (size_t pass = 0; pass < old_end.size(); ++pass) {
        if (old_end[pass] == static_cast<int32_t>(i)) plan_.pass_end[pass] = StepCount();
      }
      Bind(old[i]);
      FindAccesses(old[i]);
      if (IsTimed(old[i].kind)) AddWaitsFor(old[i]);
      plan_.steps.push_back(old[i]);
    }
    for (size_t pass = 0; pass < old_end.size(); ++pass) {
      if (old_end[pass] == static_cast<int32_t>(old.size())) plan_.pass_end[pass] = StepCount();
    }
  }

 private:
  int32_t StepCount() const { return static_cast<int32_t>(plan_.steps.size()); }

  static bool IsTimed(StepKind kind) {
    return kind != StepKind::kAlloc && kind != StepKind::kFree && kind != StepKind::kAlias;
  }

  void Bind(const Step& step) {
    std::vector<int64_t>& device = offset_of_[static_cast<size_t>(Tier::kDevice)];
    if (step.kind == StepKind::kAlloc) {
      offset_of_[static_cast<size_t>(step.tier)][step.tensor] = step.offset;
    } else if (step.kind == StepKind::kFree) {
      offset_of_[static_cast<size_t>(step.tier)][step.tensor] = kNone;
    } else if (step.kind == StepKind::kAlias) {
      device[step.tensor] = device[step.on];
    }
  }

  void Add(Tier tier, TensorId t, bool writes) {
    const int64_t offset = offset_of_[static_cast<size_t>(tier)][t];
    const int64_t bytes = Aligned(graph_.tensors[t].bytes);
    if (offset != kNone && bytes > 0) accesses_.push_back({tier, offset, offset + bytes, writes});
  }

  void FindAccesses(const Step& step) {
    accesses_.clear();
    if (step.kind == StepKind::kOffload || step.kind == StepKind::kPrefetch) {
      Add(Tier::kDevice, step.tensor, step.kind == StepKind::kPrefetch);
      Add(Tier::kHost, step.tensor, step.kind == StepKind::kOffload);
    } else if (IsTimed(step.kind)) {
      const Form& form = graph_.ops[step.op].forms[step.form];
      const auto add = [&](const std::vector<TensorId>& operands, bool writes) {
        for (const TensorId t : operands) {
          const bool touched = step.kind != StepKind::kRecompute || TouchedAgain(graph_, form, t);
          if (touched) Add(Tier::kDevice, t, writes);
        }
      };
      add(form.reads, false);
      add(form.writes, true);
      if (!form.scratch.empty() && form.scratch[step.scratch].tensor != kNone) {
        Add(Tier::kDevice, form.scratch[step.scratch].tensor, true);
      }
    }
  }

  void AddWaitsFor(const Step& step) {
    Clock needed = kStart;
    for (const Access& access : accesses_) {
      touched_[static_cast<size_t>(access.tier)].Collect(access, plan_.steps, &needed);
    }
    Clock& now = lane_clock_[Index(step.lane)];
    const Clock before = now;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (needed[lane] <= before[lane] || IsImplied(needed, before, lane)) continue;
      Step wait;
      wait.kind = StepKind::kWait;
      wait.lane = step.lane;
      wait.step = needed[lane];
      plan_.steps.push_back(wait);
      for (int other = 0; other < kLanes; ++other) {
        now[other] = std::max(now[other], finished_with_[needed[lane]][other]);
      }
    }
    now[Index(step.lane)] = StepCount();
    finished_with_.resize(StepCount() + 1, kStart);
    finished_with_.back() = now;
    for (const Access& access : accesses_) {
      touched_[static_cast<size_t>(access.tier)].Note(access, StepCount(), step.lane);
    }
  }

  /// Whether waiting for the step needed of another lane covers the one needed of `lane`.
  bool IsImplied(const Clock& needed, const Clock& before, int lane) const {
    for (int other = 0; other < kLanes; ++other) {
      if (other == lane || needed[other] <= before[other]) continue;
      if (finished_with_[needed[other]][lane] >= needed[lane]) return true;
    }
    return false;
  }

  const Graph& graph_;
  Plan& plan_;
  std::array<std::vector<int64_t>, 2> offset_of_;  ///< by tier and tensor; kNone: no range
  std::array<Touched, 2> touched_;                 ///< by tier
  std::array<Clock, kLanes> lane_clock_;           ///< what the next step of each lane comes after
  std::vector<Clock> finished_with_;               ///< by step: what has finished once it has
  std::vector<Access> accesses_;                   ///< of the step at hand
};

}  // namespace

void AddWaits(const Graph& graph, Plan* plan) { WaitAdder(graph, plan).Run(); }

}  // namespace layrub
