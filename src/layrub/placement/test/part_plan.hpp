#ifndef LAYRUB_PLACEMENT_TEST_PART_PLAN_HPP_
#define LAYRUB_PLACEMENT_TEST_PART_PLAN_HPP_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/test/plan_writer.hpp"

namespace layrub::testing {

/// Writes x (1000 bytes), then y (768), then z (256) from y, and reads x with z. w (256) is state.
inline Graph PartNet() {
  GraphWriter net;
  const TensorId w = net.Add("w", 256, Role::kParameter, Life::kState);
  const TensorId x = net.Add("x", 1000, Role::kActivation);
  const TensorId y = net.Add("y", 768, Role::kActivation);
  const TensorId z = net.Add("z", 256, Role::kActivation);
  net.Add("first", Pass::kForward, OpKind::kCompute, {w}, {x});
  net.Add("second", Pass::kForward, OpKind::kCompute, {}, {y});
  net.Add("third", Pass::kForward, OpKind::kCompute, {y}, {z}, {{z, y}});
  net.Add("fourth", Pass::kForward, OpKind::kCompute, {x, z}, {});
  return net.graph;
}

/// How a plan for PartNet leaves a part of x on the device while y takes other bytes of it.
struct PartChoices {
  using Copies = std::vector<std::pair<int64_t, int64_t>>;  ///< offsets and bytes
  using Steps = std::function<void(PlanWriter*)>;

  int64_t first_at = 256;  ///< where x is written first
  int64_t kept = 256;      ///< how much of it stays
  int64_t whole_at = 256;  ///< where x is whole again
  int64_t lacks = kNone;   ///< the first byte that it lacks until then; kNone: `kept`
  int64_t y_at = 512;
  Copies saved = {{256, 744}};
  Copies loaded = {{256, 744}};
  bool waits_for_save = true;         ///< the offload ends before y is written
  Steps keep = nullptr;               ///< in place of the Free that keeps a part
  Steps meanwhile = nullptr;          ///< while there is a part
  Steps before_whole = nullptr;       ///< after y is freed
  Steps before_load = nullptr;        ///< when x has its whole range, but has not been prefetched
  Steps after_load = nullptr;         ///< before x is read
  Steps at_the_end = nullptr;         ///< in place of the Frees of x
  int64_t device_bytes = 1536 + 256;  ///< z lies in the last 256
};

inline Plan PartPlan(const Graph& graph, const PartChoices& choices = {}) {
  const auto insert = [](PlanWriter* p, const PartChoices::Steps& steps) {
    if (steps) steps(p);
  };
  PlanWriter p(graph, choices.device_bytes, 1024);
  p.Home("w", 0);
  p.Alloc("x", choices.first_at);
  const int32_t first = p.Run("first");
  p.Alloc("x", 0, Tier::kHost);
  p.Wait(Lane::kSave, first);
  int32_t saved = kNone, loaded = kNone;
  for (const auto& [offset, bytes] : choices.saved) saved = p.Offload("x", offset, bytes);
  choices.keep ? choices.keep(&p) : void(p.Keep("x", choices.kept));
  insert(&p, choices.meanwhile);
  p.Alloc("y", choices.y_at);
  if (choices.waits_for_save) p.Wait(Lane::kCompute, saved);
  p.Run("second");
  p.Alloc("z", choices.device_bytes - 256);
  const int32_t third = p.Run("third");
  p.Free("y");
  insert(&p, choices.before_whole);
  p.Alloc("x", choices.whole_at, Tier::kDevice,
          choices.lacks == kNone ? choices.kept : choices.lacks);
  insert(&p, choices.before_load);
  p.Wait(Lane::kLoad, third);
  for (const auto& [offset, bytes] : choices.loaded) loaded = p.Prefetch("x", offset, bytes);
  if (loaded != kNone) p.Wait(Lane::kCompute, loaded);
  insert(&p, choices.after_load);
  p.Run("fourth");
  p.Free("z");
  if (choices.at_the_end) {
    choices.at_the_end(&p);
  } else {
    p.Free("x");
    p.Free("x", Tier::kHost);
  }
  p.EndPass(Pass::kForward);
  return p.plan;
}

/// The same, but the part moves to an overlapping range before y is written.
inline Plan MovedPartPlan(const Graph& graph, PartChoices choices = {}) {
  choices.first_at = 512;
  choices.kept = 512;
  choices.y_at = 768;
  choices.saved = choices.loaded = {{512, 488}};
  if (!choices.meanwhile) choices.meanwhile = [](PlanWriter* p) { p->Move("x", 256, 512); };
  return PartPlan(graph, choices);
}

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_PART_PLAN_HPP_
