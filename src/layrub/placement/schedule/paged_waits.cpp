#include "layrub/placement/schedule/paged_waits.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

namespace layrub::placement::schedule {
namespace {

/// For each lane, the last step that matters; kNone: none.
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

/// The bytes of a tensor, and of those that lie on it.
struct PagedRange {
  int64_t bytes = 0;
  int32_t bound = 1;  ///< so many tensors
  Steps written;  ///< who has to have finished before they are read: who writes them comes first
  Steps touched;  ///< and before they are written
};

class Pager {
 public:
  Pager(const Graph& graph, int64_t bytes, Plan* plan)
      : graph_(graph),
        plan_(*plan),
        of_{std::vector<int32_t>(graph.tensors.size(), kNone),
            std::vector<int32_t>(graph.tensors.size(), kNone)},
        number_(plan->steps.size()) {
    for (const Home& home : plan->homes) bytes -= Aligned(graph.tensors[home.tensor].bytes);
    free_.push_back({bytes, {}});
  }

  bool Run() {
    if (free_.front().first < 0) return false;
    const std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    plan_.steps.reserve(2 * steps.size());
    size_t pass = 0;
    const std::array<int32_t, 3> ends = plan_.pass_end;
    for (int32_t i = 0; i < static_cast<int32_t>(steps.size()); ++i) {
      for (; pass < ends.size() && ends[pass] == i; ++pass) plan_.pass_end[pass] = Count();
      if (!Take(steps[i], i)) return false;
    }
    for (; pass < ends.size(); ++pass) plan_.pass_end[pass] = Count();
    return true;
  }

 private:
  int32_t Count() const { return static_cast<int32_t>(plan_.steps.size()); }
  PagedRange& Of(Tier tier, TensorId t) { return ranges_[of_[Index(tier)][t]]; }
  bool Has(Tier tier, TensorId t) const { return of_[Index(tier)][t] != kNone; }

  bool Take(const Step& step, int32_t number) {
    switch (step.kind) {
      case StepKind::kAlloc:
        if (!Alloc(step)) return false;
        break;
      case StepKind::kFree:
        Free(step);
        break;
      case StepKind::kAlias:
        of_[0][step.tensor] = of_[0][step.on];
        ++Of(Tier::kDevice, step.tensor).bound;
        break;
      default:
        Wait(step);
        number_[number] = Count();
        Note(step, number);
    }
    plan_.steps.push_back(step);
    return true;
  }

  /// Of a part, what it lacks.
  bool Alloc(const Step& step) {
    const int64_t bytes = Aligned(graph_.tensors[step.tensor].bytes);
    const bool device = step.tier == Tier::kDevice;
    if (device && Has(Tier::kDevice, step.tensor)) {
      PagedRange& part = Of(Tier::kDevice, step.tensor);
      return TakeBytes(bytes - part.bytes, &part);
    }
    of_[Index(step.tier)][step.tensor] = static_cast<int32_t>(ranges_.size());
    PagedRange& range = ranges_.emplace_back();
    return !device || TakeBytes(bytes, &range);
  }

  bool TakeBytes(int64_t need, PagedRange* range) {
    range->bytes += need;
    while (need > 0) {
      if (free_.empty()) return false;
      auto& [bytes, touched] = free_.front();
      range->touched.Add(touched);
      const int64_t taken = std::min(need, bytes);
      need -= taken;
      bytes -= taken;
      if (bytes == 0) free_.pop_front();
    }
    return true;
  }

  void Free(const Step& step) {
    PagedRange& range = Of(step.tier, step.tensor);
    if (step.bytes > 0) {
      free_.emplace_back(range.bytes - step.bytes, range.touched);
      range.bytes = step.bytes;
      return;
    }
    if (--range.bound == 0 && step.tier == Tier::kDevice)
      free_.emplace_back(range.bytes, range.touched);
    of_[Index(step.tier)][step.tensor] = kNone;
  }

  /// Calls f(range, whether it is written) for all that `step` touches.
  template <typename F>
  void ForEach(const Step& step, const F& f) {
    if (step.op == kNone) {
      const bool down = step.kind == StepKind::kOffload;
      f(Of(Tier::kDevice, step.tensor), !down);
      f(Of(Tier::kHost, step.tensor), down);
      return;
    }
    const Form& form = graph_.ops[step.op].forms[step.form];
    const auto touch = [&](TensorId t, bool writes) {
      if (t != kNone && Has(Tier::kDevice, t)) f(Of(Tier::kDevice, t), writes);
    };
    for (const TensorId t : form.reads) touch(t, false);
    for (const TensorId t : form.writes) touch(t, true);
    if (!form.scratch.empty()) touch(form.scratch[step.scratch].tensor, true);
  }

  void Wait(const Step& step) {
    Steps needed;
    ForEach(step, [&](const PagedRange& range, bool writes) {
      needed.Add(writes ? range.touched : range.written);
    });
    Steps& known = known_[Index(step.lane)];
    for (int lane = 0; lane < kLanes; ++lane) {
      if (lane == static_cast<int>(step.lane) || needed.last[lane] <= known.last[lane]) continue;
      Step wait;
      wait.kind = StepKind::kWait;
      wait.lane = step.lane;
      wait.step = number_[needed.last[lane]];
      plan_.steps.push_back(wait);
      known.last[lane] = needed.last[lane];
    }
  }

  void Note(const Step& step, int32_t number) {
    ForEach(step, [&](PagedRange& range, bool writes) {
      range.touched.Add(step.lane, number);
      if (writes) range.written.Add(step.lane, number);
    });
  }

  const Graph& graph_;
  Plan& plan_;
  std::array<std::vector<int32_t>, 2> of_;  ///< by tier and tensor: index into ranges_
  std::vector<PagedRange> ranges_;
  std::deque<std::pair<int64_t, Steps>> free_;  ///< bytes, and who touched them; free longest first
  std::array<Steps, kLanes> known_;             ///< what the next step of a lane comes after
  std::vector<int32_t> number_;                 ///< by step: its number with the Waits
};

}  // namespace

bool AddPagedWaits(const Graph& graph, int64_t bytes, Plan* plan) {
  return Pager(graph, bytes, plan).Run();
}

}  // namespace layrub::placement::schedule
