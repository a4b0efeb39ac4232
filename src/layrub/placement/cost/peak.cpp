#include <vector>

#include "layrub/placement/cost/occupancy.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/plan_walk.hpp"

namespace layrub {
namespace {

/// Live bytes of the device by role. A range has the role of the tensor that was bound to it last.
class LiveByRole {
 public:
  /// `walk` must not have gone any step yet.
  LiveByRole(const Graph& graph, const PlanWalk& walk) : graph_(graph) {
    for (size_t range = 0; range < walk.ranges().size(); ++range)
      Add(walk, static_cast<int32_t>(range));
  }

  void Follow(const PlanWalk& walk) {
    if (walk.change().range != kNone) Add(walk, walk.change().range);
  }
  const RoleBytes& bytes() const { return bytes_; }

 private:
  struct Counted {
    Role role = Role::kActivation;
    int64_t bytes = 0;
  };

  void Add(const PlanWalk& walk, int32_t number) {
    const LiveRange& range = walk.ranges()[number];
    if (range.tier != Tier::kDevice) return;
    if (counted_.size() <= static_cast<size_t>(number)) counted_.resize(number + 1);
    Counted& counted = counted_[number];
    bytes_[static_cast<size_t>(counted.role)] -= counted.bytes;
    counted = {graph_.tensors[range.newest].role, range.bound > 0 ? range.bytes : 0};
    bytes_[static_cast<size_t>(counted.role)] += counted.bytes;
  }

  const Graph& graph_;
  std::vector<Counted> counted_;  ///< by range of the walk
  RoleBytes bytes_{};
};

}  // namespace

Peak FindPeak(const Graph& graph, const Plan& plan) {
  Peak peak;
  PlanWalk walk(graph, plan);
  LiveByRole live(graph, walk);
  while (walk.Next()) {
    live.Follow(walk);
    const OpId op = walk.step().op;
    const int64_t bytes = walk.live_bytes(Tier::kDevice);
    if (op != kNone && (peak.op == kNone || bytes > peak.bytes)) peak = {bytes, op, live.bytes()};
  }
  peak.unused = plan.device_bytes - peak.bytes;
  return peak;
}

std::vector<int64_t> Occupancy(const Graph& graph, const Plan& plan, Tier tier) {
  std::vector<int64_t> occupancy;
  for (PlanWalk walk(graph, plan); walk.Next();) occupancy.push_back(walk.live_bytes(tier));
  return occupancy;
}

std::vector<RoleBytes> OccupancyByRole(const Graph& graph, const Plan& plan) {
  std::vector<RoleBytes> occupancy;
  PlanWalk walk(graph, plan);
  LiveByRole live(graph, walk);
  while (walk.Next()) {
    live.Follow(walk);
    if (walk.step().op != kNone) occupancy.push_back(live.bytes());
  }
  return occupancy;
}

}  // namespace layrub
