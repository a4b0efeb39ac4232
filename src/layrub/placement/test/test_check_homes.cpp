// What Check says of state that is at home off the device.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/test/plan_writer.hpp"
#include "layrub/placement/test/small_plan.hpp"

namespace layrub::placement {
namespace {

using testing::GraphWriter;
using testing::Join;
using testing::Objects;
using testing::PlanWriter;

/// w is at home in the host tier, is read by one operation and updated by another.
class CheckHomeOnHost : public ::testing::Test {
 protected:
  CheckHomeOnHost() {
    GraphWriter net;
    const TensorId w = net.Add("w", 512, Role::kParameter, Life::kState);
    const TensorId y = net.Add("y", 512, Role::kActivation);
    net.Add("use", Pass::kForward, OpKind::kCompute, {w}, {y});
    net.Add("update", Pass::kUpdate, OpKind::kUpdate, {w}, {w});
    graph_ = net.graph;
  }

  /// The plan without the step that `left_out` names. `again`: w is also evicted between its uses.
  Plan PlanWithout(const std::string& left_out, bool leaves = true) const {
    PlanWriter p(graph_, 1024, 512);
    const auto unless = [&](const std::string& name, auto step) {
      return left_out == name ? kNone : step();
    };
    p.Home("w", 0, Tier::kHost);
    p.Alloc("w", 0);
    int32_t fetched = unless("prefetch", [&] { return p.Prefetch("w"); });
    p.Alloc("y", 512);
    if (fetched != kNone) unless("wait", [&] { return p.Wait(Lane::kCompute, fetched); });
    const int32_t used = p.Run("use");
    p.Free("y");
    if (leaves) {
      p.Free("w");
      p.EndPass(Pass::kForward);
      p.Alloc("w", 0);
      p.Wait(Lane::kLoad, used);
      fetched = p.Prefetch("w");
      p.Wait(Lane::kCompute, fetched);
    } else {
      p.EndPass(Pass::kForward);
    }
    const int32_t updated = p.Run("update");
    unless("save", [&] {
      p.Wait(Lane::kSave, updated);
      return p.Offload("w");
    });
    unless("free", [&] { return p.Free("w"); });
    p.EndPass(Pass::kUpdate);
    return p.plan;
  }

  Graph graph_;
};

TEST_F(CheckHomeOnHost, AcceptsStateThatIsPrefetchedAndOffloaded) {
  EXPECT_EQ(Join(Check(graph_, PlanWithout("nothing"))), "");
  EXPECT_EQ(Join(Check(graph_, PlanWithout("nothing", false))), "");
}

TEST_F(CheckHomeOnHost, ObjectsToStateThatIsNotPrefetchedOrNotOffloaded) {
  EXPECT_TRUE(Objects(graph_, PlanWithout("prefetch"), "reads w, whose device range was not"));
  EXPECT_TRUE(Objects(graph_, PlanWithout("wait"), "reads w without waiting for step 1"));
  EXPECT_TRUE(
      Objects(graph_, PlanWithout("save"),
              "at the end of the plan w does not have its value: its range holds an older"));
  EXPECT_TRUE(Objects(graph_, PlanWithout("free"), "of the plan w still has a device range"));
}

TEST_F(CheckHomeOnHost, ObjectsToAHomeThatIsFreedOrListedTwice) {
  Plan plan = PlanWithout("nothing");
  plan.steps.push_back({.kind = StepKind::kFree, .tier = Tier::kHost, .tensor = 0, .end = 512});
  ++plan.pass_end[2];
  EXPECT_TRUE(Objects(graph_, plan, "(free w): w gives its home back"));
  plan = PlanWithout("nothing");
  plan.homes.push_back({0, Tier::kDevice, 0});
  EXPECT_TRUE(Objects(graph_, plan, "homes: w has two"));
  plan = PlanWithout("nothing");
  plan.host_bytes = 256;
  EXPECT_TRUE(Objects(graph_, plan, "is not inside the host arena"));
}

TEST_F(CheckHomeOnHost, ObjectsToStateThatCannotBeReadBetweenThePasses) {
  Plan plan = PlanWithout("nothing", false);
  graph_.ops[0].variants[0].writes.push_back(0);  // the forward changes w
  EXPECT_EQ(Join(Check(graph_, plan)), "");
  Plan left = PlanWithout("nothing");  // and it leaves without a copy
  EXPECT_TRUE(
      Objects(graph_, left, "after the forward pass w cannot be read, although it is state"));
}

TEST_F(CheckHomeOnHost, AcceptsOperationsThatUseStateInHostMemory) {
  PlanWriter p(graph_, 512, 512);
  p.Home("w", 0, Tier::kHost);
  p.Alloc("y", 0);
  p.Run("use");
  p.Free("y");
  p.EndPass(Pass::kForward);
  p.Run("update");
  p.EndPass(Pass::kUpdate);
  EXPECT_TRUE(Objects(graph_, p.plan, "reads w, which has no device range"));
  EXPECT_TRUE(Objects(graph_, p.plan, "writes w, which has no device range"));
  graph_.tensors[0].host_access = true;
  EXPECT_EQ(Join(Check(graph_, p.plan)), "");
  p.plan.homes[0].tier = Tier::kFile;
  std::swap(p.plan.host_bytes, p.plan.spill_bytes);
  EXPECT_TRUE(Objects(graph_, p.plan, "reads w, which has no device range"));
}

TEST_F(CheckHomeOnHost, OrdersCopiesAndOperationsThatUseStateInHostMemory) {
  graph_.tensors[0].host_access = true;
  const auto plan = [this](bool waits, bool saves) {
    PlanWriter p(graph_, 1024, 512);
    p.Home("w", 0, Tier::kHost);
    p.Alloc("w", 0);
    const int32_t fetched = p.Prefetch("w");
    p.Alloc("y", 512);
    p.Wait(Lane::kCompute, fetched);
    const int32_t used = p.Run("use");
    p.Free("y");
    p.EndPass(Pass::kForward);
    if (saves) {
      if (waits) p.Wait(Lane::kSave, used);
      p.Offload("w");  // the value has not changed
    }
    p.Free("w");
    p.Run("update");
    p.EndPass(Pass::kUpdate);
    return p.plan;
  };
  EXPECT_EQ(Join(Check(graph_, plan(true, false))), "");
  EXPECT_TRUE(Objects(graph_, plan(true, true), "writes w without waiting for"));
}

}  // namespace
}  // namespace layrub::placement
