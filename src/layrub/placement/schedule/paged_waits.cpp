#include "layrub/placement/schedule/paged_waits.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "layrub/placement/ir/plan_walk.hpp"

namespace layrub::placement::schedule {
namespace {

/// For each lane, the last step that counts; kNone: none.
struct Steps {
  std::array<int32_t, kLanes> last = kNoSteps;
  void Add(Lane lane, int32_t step) {
    int32_t& own = last[Index(lane)];
    own = std::max(own, step);
  }
  void Add(const Steps& other) {
    for (int lane = 0; lane < kLanes; ++lane) last[lane] = std::max(last[lane], other.last[lane]);
  }
};

/// The steps that touch the bytes of a range.
struct RangeUsers {
  Steps written;  ///< must finish before the bytes are read: the steps that write them
  Steps all;      ///< must finish before the bytes are written
};

class Pager {
 public:
  /// `before` is `plan` without Waits.
  Pager(const Graph& graph, const Plan& before, int64_t bytes, Plan* plan)
      : graph_(graph), before_(before), plan_(*plan), number_(before.steps.size()) {
    for (const Home& home : before.homes) {
      if (home.tier == Tier::kDevice) bytes -= Aligned(graph.tensors[home.tensor].bytes);
    }
    free_.push_back({bytes, {}});
  }

  bool Run() {
    if (free_.front().first < 0) return false;
    plan_.steps.clear();
    plan_.steps.reserve(2 * before_.steps.size());
    size_t pass = 0;
    const auto end_passes = [&](int32_t number) {
      for (; pass < plan_.pass_end.size() && before_.pass_end[pass] <= number; ++pass)
        plan_.pass_end[pass] = Count();
    };
    for (PlanWalk walk(graph_, before_); walk.Next();) {
      end_passes(walk.number());
      touched_.resize(walk.ranges().size());
      if (!Take(walk)) return false;
    }
    end_passes(static_cast<int32_t>(before_.steps.size()));
    return true;
  }

 private:
  int32_t Count() const { return static_cast<int32_t>(plan_.steps.size()); }

  bool Take(const PlanWalk& walk) {
    const auto [range, bytes] = walk.change();
    const bool device = range != kNone && walk.ranges()[range].tier == Tier::kDevice;
    if (device && bytes > 0 && !TakeBytes(bytes, &touched_[range].all)) return false;
    if (device && bytes < 0) free_.emplace_back(-bytes, touched_[range].all);
    if (range == kNone) {
      Wait(walk);
      number_[walk.number()] = Count();
      Note(walk);
    }
    plan_.steps.push_back(walk.step());
    return true;
  }

  bool TakeBytes(int64_t need, Steps* touched) {
    while (need > 0) {
      if (free_.empty()) return false;
      auto& [bytes, before] = free_.front();
      touched->Add(before);
      const int64_t taken = std::min(need, bytes);
      need -= taken;
      bytes -= taken;
      if (bytes == 0) free_.pop_front();
    }
    return true;
  }

  /// Skips state at home on the device, because only one lane touches it.
  template <typename F>
  void ForEach(const PlanWalk& walk, const F& f) {
    for (const Access& access : walk.accesses()) {
      if (!walk.IsResident(access)) f(&touched_[access.range], access.writes);
    }
  }

  void Wait(const PlanWalk& walk) {
    Steps needed;
    ForEach(walk, [&](const RangeUsers* range, bool writes) {
      needed.Add(writes ? range->all : range->written);
    });
    const Lane own = walk.step().lane;
    Steps& known = known_[Index(own)];
    for (int lane = 0; lane < kLanes; ++lane) {
      if (lane == static_cast<int>(own) || needed.last[lane] <= known.last[lane]) continue;
      Step wait;
      wait.kind = StepKind::kWait;
      wait.lane = own;
      wait.step = number_[needed.last[lane]];
      plan_.steps.push_back(wait);
      known.last[lane] = needed.last[lane];
    }
  }

  void Note(const PlanWalk& walk) {
    ForEach(walk, [&](RangeUsers* range, bool writes) {
      range->all.Add(walk.step().lane, walk.number());
      if (writes) range->written.Add(walk.step().lane, walk.number());
    });
  }

  const Graph& graph_;
  const Plan& before_;
  Plan& plan_;
  std::vector<RangeUsers> touched_;  ///< by PlanWalk::ranges()
  std::deque<std::pair<int64_t, Steps>>
      free_;  ///< free bytes and the steps that touched them; free longest first
  std::array<Steps, kLanes> known_;  ///< by lane: the steps that end before its next step begins
  std::vector<int32_t> number_;      ///< by step: its number with the Waits
};

}  // namespace

bool AddPagedWaits(const Graph& graph, int64_t bytes, Plan* plan) {
  const Plan before = *plan;
  return Pager(graph, before, bytes, plan).Run();
}

}  // namespace layrub::placement::schedule
