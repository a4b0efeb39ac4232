#ifndef LAYRUB_PLACEMENT_TEST_SMALL_PLAN_HPP_
#define LAYRUB_PLACEMENT_TEST_SMALL_PLAN_HPP_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/test/mutate.hpp"
#include "layrub/placement/test/plan_writer.hpp"

namespace layrub::testing {

inline std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Whether some objection contains `words`.
inline ::testing::AssertionResult Objects(const Graph& graph, const Plan& plan,
                                          const std::string& words, const Budget& budget = {}) {
  const std::vector<std::string> objections = Check(graph, plan, budget);
  for (const std::string& objection : objections) {
    if (objection.find(words) != std::string::npos) return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "nobody says \"" << words << "\" but only:\n"
                                       << Join(objections);
}

/// conv -> relu -> loss, forward, backward and update.
inline Graph SmallNet() {
  GraphWriter net;
  const TensorId w = net.Add("w", 256, Role::kParameter, Life::kState);
  const TensorId dw = net.Add("w.grad", 256, Role::kParameterGradient, Life::kState);
  const TensorId history = net.Add("w.history", 256, Role::kHistory, Life::kState);
  const TensorId x = net.Add("x", 500, Role::kActivation);
  const TensorId a = net.Add("a", 512, Role::kActivation);
  const TensorId b = net.Add("b", 512, Role::kActivation);
  const TensorId mask = net.Add("mask", 16, Role::kSaved);
  const TensorId loss = net.Add("loss", 4, Role::kActivation, Life::kIteration, true);
  const TensorId db = net.Add("b.grad", 512, Role::kActivationGradient);
  const TensorId da = net.Add("a.grad", 512, Role::kActivationGradient);
  const TensorId workspace = net.Add("conv:workspace", 100, Role::kWorkspace);
  const Pass forward = Pass::kForward, backward = Pass::kBackward;
  net.Add("data", forward, OpKind::kCompute, {}, {x});
  net.Add("conv", forward, OpKind::kCompute, {x, w}, {a}).algorithms = {{kNone, 2, true},
                                                                        {workspace, 1, true}};
  net.Add("relu", forward, OpKind::kCompute, {a}, {b, mask}, {{b, a}});
  net.Add("loss", forward, OpKind::kCompute, {b}, {loss});
  net.Add("loss/backward", backward, OpKind::kCompute, {b, loss}, {db});
  net.Add("relu/backward", backward, OpKind::kCompute, {b, db}, {da}, {{da, db}});
  net.graph.ops.back().variants.push_back(net.graph.ops.back().variants.front());
  net.graph.ops.back().variants.back().reads = {mask, db};
  net.Add("conv/backward", backward, OpKind::kCompute, {x, da, w, dw}, {dw});
  net.Add("w/update", Pass::kUpdate, OpKind::kUpdate, {w, dw, history}, {w, history});
  return net.graph;
}

/// The numbers of the steps that tests change.
struct Numbers {
  int32_t alloc_a, alloc_workspace, conv, alloc_host_x, wait_data, offload, alias_b, relu, free_a,
      free_x, wait_offload;
  int32_t loss_backward, alias_da, wait_bytes, prefetch, wait_prefetch, free_host_x, free_da,
      update;
};

/// A correct plan for SmallNet in which x is in the host tier between its uses: its bytes are
/// reused for b.grad, and it comes back to the bytes of b.
inline Plan SmallPlan(const Graph& graph, Numbers* at) {
  PlanWriter p(graph, 2048, 512);
  p.Home("w", 0);
  p.Home("w.grad", 256);
  p.Home("w.history", 512);
  p.Alloc("x", 768);
  const int32_t data = p.Run("data");
  at->alloc_a = p.Alloc("a", 1280);
  at->alloc_workspace = p.Alloc("conv:workspace", 1792);
  at->conv = p.Run("conv", 0, 1);
  at->alloc_host_x = p.Alloc("x", 0, Tier::kHost);
  at->wait_data = p.Wait(Lane::kSave, data);
  at->offload = p.Offload("x");
  p.Free("conv:workspace");
  at->alias_b = p.Alias("b", "a");
  at->relu = p.Run("relu");
  at->free_a = p.Free("a");
  at->free_x = p.Free("x");
  p.Alloc("loss", 1792);
  p.Run("loss");
  p.EndPass(Pass::kForward);
  p.Alloc("b.grad", 768);
  at->wait_offload = p.Wait(Lane::kCompute, at->offload);
  at->loss_backward = p.Run("loss/backward");
  at->alias_da = p.Alias("a.grad", "b.grad");
  const int32_t relu_backward = p.Run("relu/backward");
  p.Free("b");
  p.Free("b.grad");
  p.Alloc("x", 1280);
  at->wait_bytes = p.Wait(Lane::kLoad, relu_backward);
  at->prefetch = p.Prefetch("x");
  at->wait_prefetch = p.Wait(Lane::kCompute, at->prefetch);
  p.Run("conv/backward");
  p.Free("x");
  at->free_host_x = p.Free("x", Tier::kHost);
  at->free_da = p.Free("a.grad");
  p.EndPass(Pass::kBackward);
  at->update = p.Run("w/update");
  p.EndPass(Pass::kUpdate);
  p.Readable("loss");
  return p.plan;
}

class CheckPlan : public ::testing::Test {
 protected:
  const Graph graph_ = SmallNet();
  Numbers at_;
  const Plan plan_ = SmallPlan(graph_, &at_);
  /// plan_ with one step changed by `change`.
  template <typename Change>
  Plan With(int32_t step, Change change) const {
    Plan plan = plan_;
    change(plan.steps[step]);
    return plan;
  }
};

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_SMALL_PLAN_HPP_
