#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/test/mutate.hpp"
#include "layrub/placement/test/plan_writer.hpp"
#include "layrub/placement/test/small_plan.hpp"

namespace layrub::placement {
namespace {

using testing::GraphWriter;
using testing::Join;
using testing::Objects;
using testing::PlanWriter;
using testing::mutate::Moved;
using testing::mutate::Without;

using CheckOrder = testing::CheckPlan;

TEST_F(CheckOrder, ObjectsToAGradientOverAnActivationThatTheHostCopyStillReads) {
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.wait_offload),
                      "step 16 (compute loss/backward): writes b.grad without waiting for step 7 "
                      "(offload x), which uses the same device bytes"));
}

TEST_F(CheckOrder, ObjectsToAReadBeforeThePrefetchIsThere) {
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.wait_prefetch),
                      "reads x without waiting for step 24 (prefetch x)"));
}

TEST_F(CheckOrder, ObjectsToAPrefetchIntoBytesThatAreStillRead) {
  EXPECT_TRUE(
      Objects(graph_, Without(plan_, at_.wait_bytes),
              "(prefetch x): writes x without waiting for step 19 (compute relu/backward)"));
}

TEST_F(CheckOrder, AcceptsAnOrderThatFollowsFromOtherWaits) {
  // The load lane waits for the save lane, the compute lane for the load lane: so it waits for the
  // save lane.
  GraphWriter net;
  const TensorId x = net.Add("x", 1, Role::kActivation), y = net.Add("y", 1, Role::kActivation);
  const TensorId z = net.Add("z", 1, Role::kActivation);
  net.Add("make", Pass::kForward, OpKind::kCompute, {}, {x});
  net.Add("over", Pass::kForward, OpKind::kCompute, {}, {y});
  net.Add("use", Pass::kForward, OpKind::kCompute, {x, y}, {z});
  PlanWriter q(net.graph, 768, 256);
  q.Alloc("x", 0);
  const int32_t make = q.Run("make");
  q.Alloc("x", 0, Tier::kHost);
  q.Wait(Lane::kSave, make);
  const int32_t offload = q.Offload("x");
  q.Free("x");
  q.Alloc("x", 512);
  q.Wait(Lane::kLoad, offload);
  const int32_t prefetch = q.Prefetch("x");
  const int32_t wait = q.Wait(Lane::kCompute, prefetch);
  q.Alloc("y", 0);
  q.Run("over");
  q.Alloc("z", 256);
  q.Run("use");
  for (const char* name : {"x", "y", "z"}) q.Free(name);
  q.Free("x", Tier::kHost);
  q.EndPass(Pass::kForward);
  EXPECT_EQ(Join(Check(net.graph, q.plan)), "");
  EXPECT_TRUE(Objects(net.graph, Without(q.plan, wait), "(offload x)"));
}

TEST_F(CheckOrder, ObjectsToACopyBeforeTheValueIsWritten) {
  // The save lane may run ahead: nothing orders the offload after the operation that writes x.
  GraphWriter net;
  const TensorId x = net.Add("x", 1, Role::kActivation, Life::kIteration, true);
  net.Add("make", Pass::kForward, OpKind::kCompute, {}, {x});
  PlanWriter p(net.graph, 256, 256);
  p.Alloc("x", 0);
  const int32_t make = p.Run("make");
  p.Alloc("x", 0, Tier::kHost);
  const int32_t wait = p.Wait(Lane::kSave, make);
  p.Offload("x");
  p.Free("x");
  p.EndPass(Pass::kForward);
  p.Readable("x");
  EXPECT_EQ(Join(Check(net.graph, p.plan)), "");
  EXPECT_TRUE(
      Objects(net.graph, Without(p.plan, wait), "(offload x): reads x without waiting for"));
  EXPECT_TRUE(Objects(net.graph, Moved(p.plan, wait, wait + 1), "reads x without waiting for"));
}

TEST_F(CheckOrder, ObjectsToACopyOfBytesThatAreStillWritten) {
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.wait_data),
                      "(offload x): reads x without waiting for step 1 (compute data)"));
}

TEST_F(CheckOrder, ObjectsToMissingCopies) {
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.offload), "whose host range was not written"));
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.prefetch), "whose device range was not written"));
}

TEST_F(CheckOrder, ObjectsToAStaleHostCopy) {
  GraphWriter net;
  const TensorId x = net.Add("x", 300, Role::kActivation), y = net.Add("y", 1, Role::kActivation);
  net.Add("make", Pass::kForward, OpKind::kCompute, {}, {x});
  net.Add("change", Pass::kForward, OpKind::kCompute, {x}, {x});
  net.Add("use", Pass::kForward, OpKind::kCompute, {x}, {y});
  const auto plan_with_copy_after = [&](int when) {
    PlanWriter p(net.graph, 1024, 512);
    p.Alloc("x", 0);
    p.Alloc("x", 0, Tier::kHost);
    int32_t offload = kNone;
    const auto copy = [&](int now, int32_t writer) {
      if (now != when) return;
      p.Wait(Lane::kSave, writer);
      offload = p.Offload("x");
      p.Wait(Lane::kCompute, offload);
    };
    copy(1, p.Run("make"));
    copy(2, p.Run("change"));
    p.Free("x");
    p.Alloc("x", 0);
    p.Wait(Lane::kLoad, offload);
    p.Wait(Lane::kCompute, p.Prefetch("x"));
    p.Alloc("y", 512);
    p.Run("use");
    p.Free("x");
    p.Free("x", Tier::kHost);
    p.Free("y");
    p.EndPass(Pass::kForward);
    return p.plan;
  };
  EXPECT_TRUE(Objects(net.graph, plan_with_copy_after(1), "host range holds an older value"));
  EXPECT_TRUE(Check(net.graph, plan_with_copy_after(2)).empty())
      << Join(Check(net.graph, plan_with_copy_after(2)));
}

TEST_F(CheckOrder, ObjectsToHostBytesReusedWhileAPrefetchReadsThem) {
  GraphWriter net;
  const TensorId x = net.Add("x", 1, Role::kActivation, Life::kIteration, true);
  const TensorId y = net.Add("y", 1, Role::kActivation, Life::kIteration, true);
  net.Add("make", Pass::kForward, OpKind::kCompute, {}, {x, y});
  PlanWriter p(net.graph, 512, 256);
  p.Alloc("x", 0);
  p.Alloc("y", 256);
  const int32_t make = p.Run("make");
  p.Alloc("x", 0, Tier::kHost);
  p.Wait(Lane::kSave, make);
  const int32_t offload = p.Offload("x");
  p.Wait(Lane::kLoad, offload);
  const int32_t prefetch = p.Prefetch("x");
  p.Free("x", Tier::kHost);
  p.Alloc("y", 0, Tier::kHost);
  const int32_t wait = p.Wait(Lane::kSave, prefetch);
  p.Offload("y");
  p.Free("y");
  p.EndPass(Pass::kForward);
  p.Readable("x");
  p.Readable("y");
  EXPECT_EQ(Join(Check(net.graph, p.plan)), "");
  EXPECT_TRUE(Objects(net.graph, Without(p.plan, wait), "which uses the same host bytes"));
}

TEST_F(CheckOrder, ObjectsToImpossibleWaits) {
  const auto wait_for = [this](int32_t number) {
    return With(at_.wait_offload, [=](Step& step) { step.step = number; });
  };
  EXPECT_TRUE(Objects(graph_, wait_for(at_.prefetch), "which is not an earlier step"));
  EXPECT_TRUE(Objects(graph_, wait_for(at_.wait_offload), "which is not an earlier step"));
  EXPECT_TRUE(Objects(graph_, wait_for(kNone), "which is not an earlier step"));
  EXPECT_TRUE(Objects(graph_, wait_for(at_.alias_b), "which takes no time"));
  EXPECT_TRUE(Objects(graph_, wait_for(at_.conv), "makes a lane wait for step 4 of its own"));
}

TEST(CheckSpeed, ChecksAHundredThousandStepsInSeconds) {
  GraphWriter net;
  const int n = 15000;
  std::vector<TensorId> values;
  for (int i = 0; i <= n; ++i)
    values.push_back(net.Add("t" + std::to_string(i), 1000, Role::kActivation));
  net.Add("op0", Pass::kForward, OpKind::kCompute, {}, {values[0]});
  for (int i = 1; i <= n; ++i) {
    net.Add("op" + std::to_string(i), Pass::kForward, OpKind::kCompute, {values[i - 1]},
            {values[i]});
  }
  // Every value is copied to the host and back before its reader runs; ranges are scattered over
  // the arenas.
  PlanWriter p(net.graph, int64_t{n + 1} * 1024, int64_t{n + 1} * 1024);
  for (int i = 0; i <= n; ++i) {
    const std::string name = "t" + std::to_string(i);
    const int64_t offset = int64_t{i} * 7919 % (n + 1) * 1024;
    p.Alloc(name, offset);
    const auto op = static_cast<OpId>(i);
    p.plan.steps.push_back({.kind = StepKind::kRun, .op = op});
    p.Alloc(name, offset, Tier::kHost);
    p.Wait(Lane::kSave, static_cast<int32_t>(p.plan.steps.size()) - 2);
    p.Wait(Lane::kLoad, p.Offload(name));
    p.Wait(Lane::kCompute, p.Prefetch(name));
  }
  for (TensorId id = 0; id <= n; ++id) {
    const std::string name = "t" + std::to_string(id);
    p.Free(name);
    p.Free(name, Tier::kHost);
  }
  p.EndPass(Pass::kForward);
  ASSERT_GE(p.plan.steps.size(), 100000u);
  const std::clock_t start = std::clock();
  EXPECT_EQ(Join(Check(net.graph, p.plan)), "");
  EXPECT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC);  // of the processor
}

}  // namespace
}  // namespace layrub::placement
