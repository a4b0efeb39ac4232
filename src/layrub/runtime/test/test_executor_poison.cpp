#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/runtime/executor.hpp"
#include "layrub/runtime/test/chain.hpp"
#include "layrub/runtime/test/toy.hpp"

// The test modes must detect errors: each plan or operation here is wrong on purpose.
namespace layrub {
namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::testing;

/// A toy that does something extra at one operation.
class Vandal : public Toy {
 public:
  Vandal(const Graph& graph, OpId op, std::function<void()> act)
      : Toy(graph), op_(op), act_(std::move(act)) {}
  void Run(const Step& step) override {
    Toy::Run(step);
    if (step.op == op_) act_();
  }

 private:
  const OpId op_;
  const std::function<void()> act_;
};

class PoisonTest : public ::testing::Test {
 protected:
  /// Runs two iterations of `plan` and calls `act` at `op`. Returns true if nothing was written
  /// outside live ranges.
  bool Intact(const Plan& plan, OpId op, std::function<void(Executor*)> act) {
    Executor executor(graph_, plan, backend_.get(), {.poison = true});
    Vandal vandal(graph_, op, [&] { act(&executor); });
    vandal.Attach(&executor);
    vandal.RunIteration();
    vandal.RunIteration();
    EXPECT_EQ(vandal.wrong(), std::vector<std::string>());
    return executor.SentinelsIntact();
  }

  const Graph graph_ = Chain();
  const std::unique_ptr<Backend> backend_ = MakeCpuBackend();
};

/// The chain's plan with 256 bytes between ranges.
Plan Padded() {
  Plan plan = ChainPlan();
  for (Step& step : plan.steps) step.offset = step.offset / kBytes * (kBytes + kAlignment);
  for (Home& home : plan.homes) home.offset = home.offset / kBytes * (kBytes + kAlignment);
  plan.device_bytes += 5 * kAlignment;
  plan.host_bytes += kAlignment;
  return plan;
}

char* AddressOf(Executor* executor, TensorId tensor) {
  return static_cast<char*>(executor->Address(tensor));
}

constexpr int64_t kSlide = 3 * kAlignment;

/// The chain's plan with B elsewhere, so that A can slide up before B is made of it.
Plan Sliding() {
  Plan plan = ChainPlan();
  std::swap(plan.steps[2].offset, plan.steps[13].offset);
  Step move;
  move.kind = StepKind::kCopy;
  move.tensor = kA;
  move.end = kBytes;
  move.offset = 2 * kBytes + kSlide;
  plan.steps.insert(plan.steps.begin() + 2, move);
  for (Step& step : plan.steps) step.step += step.kind == StepKind::kWait;
  for (int32_t& end : plan.pass_end) ++end;
  return plan;
}

TEST_F(PoisonTest, SlidePoisonsTheBytesItLeavesOnly) {
  std::vector<float> left(kSlide / sizeof(float));
  const bool intact = Intact(Sliding(), kForwardB, [&](Executor* e) {
    std::memcpy(left.data(), AddressOf(e, kInput) + 2 * kBytes, kSlide);
    EXPECT_EQ(AddressOf(e, kA), AddressOf(e, kInput) + 2 * kBytes + kSlide);
  });
  EXPECT_TRUE(intact);
  EXPECT_TRUE(std::all_of(left.begin(), left.end(), [](float value) { return std::isnan(value); }));
}

TEST_F(PoisonTest, DetectsAWriteToBytesASlideLeavesOrWillTake) {
  EXPECT_FALSE(
      Intact(Sliding(), kForwardB, [](Executor* e) { AddressOf(e, kInput)[2 * kBytes] = 1; }));
  EXPECT_FALSE(
      Intact(Sliding(), kForwardA, [](Executor* e) { AddressOf(e, kInput)[3 * kBytes] = 1; }));
}

TEST_F(PoisonTest, SentinelsAreIntactWithoutStrayWrites) {
  EXPECT_TRUE(Intact(Padded(), kForwardA, [](Executor*) {}));
  EXPECT_TRUE(Intact(ChainPlan(), kForwardA, [](Executor*) {}));
}

TEST_F(PoisonTest, DetectsAWritePastTheEndOfARange) {
  EXPECT_FALSE(Intact(Padded(), kForwardB, [](Executor* e) { AddressOf(e, kB)[kBytes] = 1; }));
  EXPECT_FALSE(Intact(Padded(), kForwardB, [](Executor* e) { AddressOf(e, kB)[-1] = 1; }));
}

TEST_F(PoisonTest, DetectsAWriteToARangeBeforeItIsAllocated) {
  // Slot 4 is free in the forward pass and is poisoned again after the backward pass.
  EXPECT_FALSE(
      Intact(ChainPlan(), kForwardA, [](Executor* e) { AddressOf(e, kInput)[4 * kBytes] = 1; }));
}

TEST_F(PoisonTest, DetectsAWriteToTheLastByteOfTheArena) {
  EXPECT_FALSE(Intact(Padded(), kUpdateWeight, [](Executor* e) {
    AddressOf(e, kInput)[5 * (kBytes + kAlignment) - 1] = 1;
  }));
}

TEST_F(PoisonTest, FreedRangesReadAsNan) {
  const char* a = nullptr;
  Executor executor(graph_, ChainPlan(), backend_.get(), {.poison = true});
  Vandal look(graph_, kForwardA, [&] { a = AddressOf(&executor, kA); });
  look.Attach(&executor);
  executor.Run(Pass::kForward, &look);
  ASSERT_NE(a, nullptr);
  std::vector<float> values(kBytes / sizeof(float));
  std::memcpy(values.data(), a, kBytes);
  EXPECT_TRUE(
      std::all_of(values.begin(), values.end(), [](float value) { return std::isnan(value); }));
}

TEST_F(PoisonTest, DetectsAReadOfARangeFreedTooEarly) {
  Plan plan = ChainPlan();
  // A's second live interval ends before its reader. Its bytes are still there unless poisoned.
  ASSERT_EQ(plan.steps[24].tensor, kA);
  const Step free = plan.steps[24];
  for (int i = 24; i > 21; --i) plan.steps[i] = plan.steps[i - 1];
  plan.steps[21] = free;
  Executor executor(graph_, plan, backend_.get(), {.poison = true});
  Toy toy(graph_);
  toy.Attach(&executor);
  toy.RunIteration();
  ASSERT_FALSE(toy.wrong().empty());
  EXPECT_EQ(toy.wrong()[0], "a has no place at b/backward");
}

TEST_F(PoisonTest, DetectsAReadOfAValueNeverPrefetched) {
  Plan plan = ChainPlan();
  ASSERT_TRUE(IsPrefetch(plan.steps[18]));
  plan.steps[18] = Offload(kA);
  Executor executor(graph_, plan, backend_.get(), {.poison = true});
  Toy toy(graph_);
  toy.Attach(&executor);
  toy.RunIteration();
  ASSERT_FALSE(toy.wrong().empty());
  EXPECT_EQ(toy.wrong()[0], "a is wrong at b/backward");
}

TEST_F(PoisonTest, LanesRaceIfThePlanLacksAWait) {
  Plan plan = ChainPlan();
  // The gradient of C takes A's place, now without waiting for A's copy to the host. The save lane
  // is slow: it starts only when C's backward runs.
  ASSERT_EQ(plan.steps[10].kind, StepKind::kWait);
  plan.steps[10].lane = Lane::kSave;
  Executor executor(graph_, plan, backend_.get());
  class SlowSave : public Toy {
   public:
    SlowSave(const Graph& graph, Backend* backend) : Toy(graph), backend_(backend) {}
    void Run(const Step& step) override {
      if (step.op == kForwardA) {
        const Event now = backend_->Record(Lane::kLoad);
        backend_->Wait(Lane::kSave, {Lane::kLoad, now.ticket + 1});
      }
      if (step.op == kBackwardC) {
        backend_->Record(Lane::kLoad);
        backend_->Wait(Lane::kCompute, backend_->Record(Lane::kSave));
      }
      Toy::Run(step);
    }

   private:
    Backend* const backend_;
  } toy(graph_, backend_.get());
  toy.Attach(&executor);
  toy.RunIteration();
  ASSERT_FALSE(toy.wrong().empty());
  EXPECT_EQ(toy.wrong()[0], "a is wrong at b/backward");
}

TEST_F(PoisonTest, TouchedBytesAreThoseOfTheHighestWrite) {
  Plan plan = ChainPlan();
  plan.device_bytes += 10 * kBytes;
  Executor executor(graph_, plan, backend_.get(), {.canary = true});
  EXPECT_EQ(executor.TouchedBytes(), 0);
  AddressOf(&executor, kWeight)[0] ^= 1;
  EXPECT_EQ(executor.TouchedBytes(), kBytes + 1);
  Toy toy(graph_);
  toy.Attach(&executor);
  toy.RunIteration();
  EXPECT_EQ(executor.TouchedBytes(), 5 * kBytes);
}

}  // namespace
}  // namespace layrub
