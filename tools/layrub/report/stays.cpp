#include "layrub/report/stays.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "layrub/placement/ir/plan_walk.hpp"

namespace layrub_tool {

using layrub::Graph;
using layrub::kNone;
using layrub::Plan;
using layrub::Role;
using layrub::Step;
using layrub::StepKind;
using layrub::TensorId;
using layrub::Tier;

namespace {

class Walk {
 public:
  Walk(const Graph& graph, const Plan& plan)
      : graph_(graph), plan_(plan), walk_(graph, plan), occupancy_(OccupancyByRole(graph, plan)) {
    for (std::vector<int>& open : open_) open.assign(graph.tensors.size(), kNone);
  }

  Stays Do() {
    for (const layrub::Home& home : plan_.homes) Begin(home.tier, home.tensor);
    while (walk_.Next()) {
      EndPasses(walk_.number());
      Apply(walk_.step());
    }
    EndPasses(static_cast<int>(plan_.steps.size()));
    for (const std::vector<int>& open : open_) {
      for (const int stay : open) {
        if (stay != kNone) Close(stay);
      }
    }
    return std::move(out_);
  }

 private:
  int now() const { return static_cast<int>(out_.runs.size()); }
  int& Open(Tier tier, TensorId t) { return open_[Index(tier)][t]; }
  Stay& StayOf(Tier tier, TensorId t) { return out_.stays[Open(tier, t)]; }

  void EndPasses(int step) {
    for (; passes_ < out_.pass_end.size() && plan_.pass_end[passes_] <= step; ++passes_)
      out_.pass_end[passes_] = now();
  }

  void Apply(const Step& step) {
    switch (step.kind) {
      case StepKind::kAlloc:
        if (Open(step.tier, step.tensor) != kNone) Free(step.tier, step.tensor);  // a part
        Begin(step.tier, step.tensor);
        break;
      case StepKind::kFree:
        Free(step.tier, step.tensor);
        if (walk_.RangeOf(step.tier, step.tensor) != kNone) Begin(step.tier, step.tensor);
        break;
      case StepKind::kAlias:
        Alias(step);
        break;
      case StepKind::kCopy:
        IsMove(step) ? Move(step) : AddCopy(step);
        break;
      case StepKind::kRun:
        AddRun();
        break;
      case StepKind::kWait:
        break;
    }
  }

  /// Begins a stay in the range that the tensor has now.
  void Begin(Tier tier, TensorId t) {
    const layrub::LiveRange& range = walk_.ranges()[walk_.RangeOf(tier, t)];
    Open(tier, t) = static_cast<int>(out_.stays.size());
    const int64_t bytes = std::min(graph_.tensors[t].bytes, range.bytes);
    if (tier == Tier::kFile) {
      out_.stays.push_back({t, Tier::kHost, plan_.host_bytes + range.offset, bytes, now()});
    } else {
      out_.stays.push_back({t, tier, range.offset, bytes, now()});
    }
  }

  void Free(Tier tier, TensorId t) {
    Close(Open(tier, t));
    Open(tier, t) = kNone;
  }

  void Alias(const Step& step) {
    const int below = Open(Tier::kDevice, step.on);
    Use(&out_.stays[below], now(), now());  // used by the operation that writes its output there
    Close(below);
    Begin(Tier::kDevice, step.tensor);
  }

  void Move(const Step& step) {
    Use(&StayOf(Tier::kDevice, step.tensor), now(), now());
    Free(Tier::kDevice, step.tensor);
    Begin(Tier::kDevice, step.tensor);
    Use(&StayOf(Tier::kDevice, step.tensor), now(), now());
  }

  void AddCopy(const Step& step) {
    Use(&StayOf(step.from, step.tensor), now(), -1);  // until the range is freed
    Use(&StayOf(step.tier, step.tensor), now(), now());
    out_.copies.push_back({step.tensor, IsOffload(step), now(), CopiedBytes(graph_, step)});
  }

  void AddRun() {
    const bool again = walk_.step().recompute;
    for (const layrub::Access& access : walk_.accesses()) {
      Stay& stay = StayOf(Tier::kDevice, access.tensor);
      if (stay.end >= 0) continue;  // its bytes have gone to an output that aliases it
      stay.again |=
          again && stay.first < 0 && graph_.tensors[access.tensor].role != Role::kWorkspace;
      Use(&stay, now(), now() + 1);
    }
    const layrub::RoleBytes& by_role = occupancy_[out_.runs.size()];
    const int64_t bytes = std::accumulate(by_role.begin(), by_role.end(), int64_t{0});
    if (out_.peak < 0 || bytes > out_.runs[out_.peak].bytes) out_.peak = now();
    out_.runs.push_back({walk_.step().op, again, bytes, by_role});
  }

  static void Use(Stay* stay, int begin, int end) {
    if (stay->first < 0) stay->first = begin;
    stay->last = end;
  }

  void Close(int index) {
    Stay& stay = out_.stays[index];
    if (stay.end >= 0) return;
    const layrub::Tensor& tensor = graph_.tensors[stay.tensor];
    stay.end = now();
    if (tensor.is_state()) stay.first = stay.begin;
    if (stay.first < 0) stay.first = stay.last = stay.end;
    if (stay.last < 0 || tensor.is_state() || tensor.keep) stay.last = stay.end;
    stay.last = std::min(stay.last, stay.end);
  }

  const Graph& graph_;
  const Plan& plan_;
  layrub::PlanWalk walk_;
  Stays out_;
  const std::vector<layrub::RoleBytes> occupancy_;     ///< by run
  std::array<std::vector<int>, layrub::kTiers> open_;  ///< by tier and tensor: the stay, or kNone
  size_t passes_ = 0;                                  ///< number of passes that have ended
};

}  // namespace

Stays CollectStays(const Graph& graph, const Plan& plan) { return Walk(graph, plan).Do(); }

}  // namespace layrub_tool
