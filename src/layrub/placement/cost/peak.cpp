#include <vector>

#include "layrub/placement/cost/occupancy.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {
namespace {

/// A device range and the tensors bound to it.
struct Range {
  int64_t bytes = 0;
  int32_t bound = 0;
  Role role = Role::kActivation;  ///< of the tensor that was bound last
};

class LiveBytes {
 public:
  LiveBytes(const Graph& graph, const Plan& plan)
      : graph_(graph), range_of_(graph.tensors.size(), kNone) {
    for (const Home& home : plan.homes) {
      if (home.tier == Tier::kDevice) Alloc(home.tensor);
    }
  }

  void Apply(const Step& step) {
    if (step.kind == StepKind::kAlloc && step.tier == Tier::kDevice) {
      Alloc(step.tensor);
    } else if (step.kind == StepKind::kMove) {
      Resize(&ranges_[range_of_[step.tensor]], MovedBytes(graph_, step));
    } else if (step.kind == StepKind::kAlias) {
      range_of_[step.tensor] = range_of_[step.on];
      Range& range = ranges_[range_of_[step.tensor]];
      ++range.bound;
      Count(range, -1);
      range.role = RoleOf(step.tensor);
      Count(range, 1);
    } else if (step.kind == StepKind::kFree && step.bytes > 0) {
      Resize(&ranges_[range_of_[step.tensor]], step.bytes);
    } else if (step.kind == StepKind::kFree && step.tier == Tier::kDevice) {
      Range& range = ranges_[range_of_[step.tensor]];
      if (--range.bound == 0) Count(range, -1);
      range_of_[step.tensor] = kNone;
    }
  }

  int64_t bytes() const { return bytes_; }
  const RoleBytes& by_role() const { return by_role_; }

 private:
  void Alloc(TensorId t) {
    int32_t& range = range_of_[t];  // of a part, or none
    if (range == kNone) {
      range = static_cast<int32_t>(ranges_.size());
      ranges_.push_back({0, 1, RoleOf(t)});
    }
    Resize(&ranges_[range], graph_.tensors[t].bytes);
  }

  Role RoleOf(TensorId t) const { return graph_.tensors[t].role; }

  void Count(const Range& range, int sign) {
    bytes_ += sign * range.bytes;
    by_role_[static_cast<size_t>(range.role)] += sign * range.bytes;
  }

  void Resize(Range* range, int64_t bytes) {
    Count(*range, -1);
    range->bytes = Aligned(bytes);
    Count(*range, 1);
  }

  const Graph& graph_;
  std::vector<int32_t> range_of_;  ///< by tensor: index into ranges_, or kNone
  std::vector<Range> ranges_;
  RoleBytes by_role_{};
  int64_t bytes_ = 0;
};

}  // namespace

Peak FindPeak(const Graph& graph, const Plan& plan) {
  LiveBytes live(graph, plan);
  Peak peak;
  for (const Step& step : plan.steps) {
    live.Apply(step);
    if (step.op == kNone || (peak.op != kNone && live.bytes() <= peak.bytes)) continue;
    peak.op = step.op;
    peak.bytes = live.bytes();
    peak.by_role = live.by_role();
  }
  peak.gaps = plan.device_bytes - peak.bytes;
  return peak;
}

std::vector<int64_t> Occupancy(const Graph& graph, const Plan& plan, Tier tier) {
  std::vector<int64_t> occupancy;
  LiveBytes live(graph, plan);
  int64_t host = 0;
  for (const Step& step : plan.steps) {
    live.Apply(step);
    if (step.tier == Tier::kHost) {
      const int64_t bytes = Aligned(graph.tensors[step.tensor].bytes);
      if (step.kind == StepKind::kAlloc) host += bytes;
      if (step.kind == StepKind::kFree) host -= bytes;
    }
    occupancy.push_back(tier == Tier::kHost ? host : live.bytes());
  }
  return occupancy;
}

std::vector<RoleBytes> OccupancyByRole(const Graph& graph, const Plan& plan) {
  std::vector<RoleBytes> occupancy;
  LiveBytes live(graph, plan);
  for (const Step& step : plan.steps) {
    live.Apply(step);
    if (step.op != kNone) occupancy.push_back(live.by_role());
  }
  return occupancy;
}

}  // namespace layrub
