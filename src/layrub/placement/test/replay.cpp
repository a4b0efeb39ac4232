#include "layrub/placement/test/replay.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace layrub::testing {
namespace {

/// One operand of a step, or some bytes of it: cells of kAlignment bytes. The content of a cell is
/// given by the number that belongs there and the cell's place in the operand, which begins at
/// `base`.
struct Access {
  bool write = false;
  size_t tier = 0;
  int64_t base = 0;
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t number = 0;
  TensorId tensor = kNone;
};

struct Task {
  int32_t step = kNone;
  std::vector<int32_t> after;  // steps of other lanes that must have finished
  std::deque<Access> accesses;
};

class Player {
 public:
  Player(const Graph& graph, const Plan& plan) : graph_(graph), finished_(plan.steps.size()) {
    const size_t n = graph.tensors.size();
    offset_.fill(std::vector<int64_t>(n));
    away_.resize(n);
    on_device_.resize(n);
    home_.resize(n, Tier::kDevice);
    number_.resize(n);
    for (uint64_t& number : number_) number = ++last_number_;
    memory_[0].resize(static_cast<size_t>(plan.device_bytes / kAlignment));
    memory_[1].resize(static_cast<size_t>(plan.host_bytes / kAlignment));
    memory_[2].resize(static_cast<size_t>(plan.spill_bytes / kAlignment));
    for (const Home& home : plan.homes) {
      offset_[Index(home.tier)][home.tensor] = home.offset;
      on_device_[home.tensor] = home.tier == Tier::kDevice;
      home_[home.tensor] = home.tier;
      Put(Of(home.tensor, Index(home.tier), true));
    }
    for (size_t i = 0; i < plan.steps.size(); ++i) Queue(plan.steps[i], static_cast<int32_t>(i));
    for (const Home& home : plan.homes) left_.push_back(Of(home.tensor, Index(home.tier), false));
    for (TensorId tensor : plan.readable)
      left_.push_back(Of(tensor, on_device_[tensor] ? 0 : away_[tensor], false));
  }

  std::string Play(uint64_t seed) {
    std::mt19937_64 random(seed);
    // Some lanes run far ahead and others lag far behind; that finds more errors than fairness
    // does.
    std::array<double, kLanes> weights{};
    for (double& weight : weights) weight = std::pow(10.0, static_cast<double>(random() % 7));
    for (;;) {
      std::array<double, kLanes> chances{};
      double sum = 0;
      for (size_t lane = 0; lane < kLanes; ++lane) {
        if (Ready(lane)) sum += chances[lane] = weights[lane];
      }
      if (sum == 0) break;
      std::discrete_distribution<size_t> pick(chances.begin(), chances.end());
      const std::string wrong = Advance(pick(random));
      if (!wrong.empty()) return wrong;
    }
    for (const auto& lane : lanes_) {
      if (!lane.empty()) return "step " + std::to_string(lane.front().step) + " waits for ever";
    }
    for (const Access& access : left_) {
      if (!Holds(access)) return "at the end " + graph_.tensors[access.tensor].name + " is wrong";
    }
    return "";
  }

 private:
  Access Of(TensorId tensor, size_t tier, bool write) const {
    const int64_t begin = offset_[tier][tensor] / kAlignment;
    const int64_t cells = Aligned(graph_.tensors[tensor].bytes) / kAlignment;
    return {write, tier, begin, begin, begin + cells, number_[tensor], tensor};
  }

  /// The bytes that `step`, a Copy, copies.
  Access Copied(const Step& step, Tier tier, bool write) const {
    Access access = Of(step.tensor, Index(tier), write);
    access.begin = access.base + step.begin / kAlignment;
    access.end = access.base + Aligned(step.end) / kAlignment;
    return access;
  }

  /// Program order decides which range a step means and which number each value has.
  void Queue(const Step& step, int32_t index) {
    const size_t tier = Index(step.tier);
    switch (step.kind) {
      case StepKind::kAlloc:
        offset_[tier][step.tensor] = step.offset;
        if (tier == 0) {
          on_device_[step.tensor] = true;
        } else {
          away_[step.tensor] = tier;
        }
        return;
      case StepKind::kFree:
        if (tier == 0) on_device_[step.tensor] = false;  // operations cannot use a part
        return;
      case StepKind::kAlias:
        offset_[0][step.tensor] = offset_[0][step.on];
        on_device_[step.tensor] = true;
        return;
      case StepKind::kWait:
        waits_[Index(step.lane)].push_back(step.step);
        return;
      case StepKind::kCopy: {
        const Access from = Copied(step, step.from, false);
        if (IsMove(step)) offset_[0][step.tensor] = step.offset;
        return Push(step.lane, {index, {}, {from, Copied(step, step.tier, true)}});
      }
      case StepKind::kRun:
        return Push(step.lane, step.recompute ? Again(step, index) : Operands(step, index));
    }
  }

  /// The tier in which operations use the tensor.
  size_t InUse(TensorId tensor) const {
    const bool in_place =
        !on_device_[tensor] && graph_.tensors[tensor].host_access && home_[tensor] == Tier::kHost;
    return in_place ? 1 : 0;
  }

  Task Operands(const Step& step, int32_t index) {
    Task task{index, {}, {}};
    const Variant& variant = graph_.ops[step.op].variants[step.variant];
    for (TensorId tensor : variant.reads) task.accesses.push_back(Of(tensor, InUse(tensor), false));
    if (!variant.algorithms.empty() && variant.algorithms[step.algorithm].workspace != kNone) {
      task.accesses.push_back(Of(variant.algorithms[step.algorithm].workspace, 0, true));
    }
    for (TensorId tensor : variant.writes) {
      number_[tensor] = ++last_number_;
      if (on_device_[tensor] || InUse(tensor) == 1)
        task.accesses.push_back(Of(tensor, InUse(tensor), true));
    }
    ran_[step.op].assign(task.accesses.begin(), task.accesses.end());
    return task;
  }

  /// The numbers of the first run, at the current addresses.
  Task Again(const Step& step, int32_t index) {
    Task task{index, {}, {}};
    const Variant& variant = graph_.ops[step.op].variants[step.variant];
    for (const Access& before : ran_[step.op]) {
      const bool updates = std::find(variant.writes.begin(), variant.writes.end(), before.tensor) !=
                           variant.writes.end();
      if (updates && graph_.tensors[before.tensor].is_state()) continue;
      if (before.write && !on_device_[before.tensor]) continue;
      task.accesses.push_back(Of(before.tensor, InUse(before.tensor), before.write));
      task.accesses.back().number = before.number;
    }
    return task;
  }

  void Push(Lane lane, Task task) {
    task.after = std::move(waits_[Index(lane)]);
    waits_[Index(lane)].clear();
    lanes_[Index(lane)].push_back(std::move(task));
  }

  bool Ready(size_t lane) const {
    if (lanes_[lane].empty()) return false;
    for (int32_t step : lanes_[lane].front().after) {
      if (!finished_[step]) return false;
    }
    return true;
  }

  /// Does the next access of the lane's first task.
  std::string Advance(size_t lane) {
    Task& task = lanes_[lane].front();
    if (task.accesses.empty()) {
      finished_[task.step] = true;
      lanes_[lane].pop_front();
      return "";
    }
    const Access access = task.accesses.front();
    task.accesses.pop_front();
    if (access.write) {
      Put(access);
    } else if (!Holds(access)) {
      return "step " + std::to_string(task.step) + " reads " + graph_.tensors[access.tensor].name +
             ", which is wrong";
    }
    return "";
  }

  static uint64_t In(const Access& access, int64_t cell) {
    return access.number << 32 | static_cast<uint64_t>(cell - access.base);
  }
  void Put(const Access& access) {
    for (int64_t i = access.begin; i < access.end; ++i) memory_[access.tier][i] = In(access, i);
  }
  bool Holds(const Access& access) const {
    for (int64_t i = access.begin; i < access.end; ++i) {
      if (memory_[access.tier][i] != In(access, i)) return false;
    }
    return true;
  }

  const Graph& graph_;
  std::array<std::vector<uint64_t>, kTiers> memory_;
  std::array<std::vector<int64_t>, kTiers> offset_;
  std::vector<bool> on_device_;
  std::vector<Tier> home_;    // per tensor; kDevice for those without a home
  std::vector<size_t> away_;  // per tensor, the tier other than the device where it was last
  std::vector<uint64_t>
      number_;  // per tensor, the number of its value at this point of program order
  uint64_t last_number_ = 0;
  std::map<OpId, std::vector<Access>> ran_;  // the first run of each operation
  std::array<std::vector<int32_t>, kLanes> waits_;
  std::array<std::deque<Task>, kLanes> lanes_;
  std::vector<bool> finished_;
  std::vector<Access> left_;
};

}  // namespace

std::string Replay(const Graph& graph, const Plan& plan, uint64_t seed) {
  return Player(graph, plan).Play(seed);
}

}  // namespace layrub::testing
