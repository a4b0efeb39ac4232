#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/runtime/executor.hpp"
#include "layrub/runtime/test/chain.hpp"
#include "layrub/runtime/test/hooks.hpp"
#include "layrub/runtime/test/toy.hpp"

// An impossible size is requested on purpose: the sanitizers' allocators must return null as malloc
// does.
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace layrub {
namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::testing;

class ExecutorTest : public ::testing::Test {
 protected:
  void RunAll(Executor* executor, OpRunner* runner) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kUpdate}) {
      executor->Run(pass, runner);
    }
  }

  const Graph graph_ = Chain();
  const Plan plan_ = ChainPlan();
  const std::unique_ptr<Backend> backend_ = MakeCpuBackend();
};

TEST_F(ExecutorTest, ComputesTheSameAsAPlainInterpreter) {
  for (const bool poison : {false, true}) {
    Executor executor(graph_, plan_, backend_.get(), {.poison = poison, .canary = true});
    Toy toy(graph_);
    Interpreter plain(graph_);
    toy.Attach(&executor);
    for (int i = 0; i < 20; ++i) {
      toy.RunIteration();
      plain.RunAll();
    }
    EXPECT_EQ(toy.wrong(), std::vector<std::string>());
    EXPECT_EQ(toy.expected().Value(kWeight), plain.Value(kWeight));
    EXPECT_EQ(executor.TouchedBytes(), plan_.device_bytes);
    EXPECT_EQ(executor.bytes_offloaded(), 20 * kBytes);
    EXPECT_EQ(executor.bytes_prefetched(), 20 * kBytes);
    EXPECT_TRUE(!poison || executor.SentinelsIntact());
  }
}

TEST_F(ExecutorTest, StateTensorsHaveTheirAddressFromTheStart) {
  Executor executor(graph_, plan_, backend_.get());
  void* const weight = executor.Address(kWeight);
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(executor.Find(kWeight), weight);
  EXPECT_EQ(executor.Address(kA), nullptr);
  EXPECT_EQ(executor.Find(kA), nullptr);
  Hooks hooks;
  RunAll(&executor, &hooks);
  EXPECT_EQ(executor.Address(kWeight), weight);
  EXPECT_EQ(hooks.ran, (std::vector<OpId>{kForwardA, kForwardB, kForwardC, kBackwardC, kBackwardB,
                                          kUpdateWeight}));
}

TEST_F(ExecutorTest, AddressesFollowThePlan) {
  Executor executor(graph_, plan_, backend_.get());
  Hooks hooks;
  hooks.at[kForwardB] = [&] {
    EXPECT_NE(executor.Address(kA), executor.Address(kB));
    EXPECT_EQ(executor.Address(kC), nullptr);
  };
  hooks.at[kForwardC] = [&] {
    EXPECT_NE(executor.Address(kC), nullptr);
    EXPECT_EQ(executor.Address(kC), executor.Address(kB));
  };
  hooks.at[kBackwardB] = [&] {
    EXPECT_EQ(executor.Address(kDiffA), executor.Address(kDiffB));
    EXPECT_EQ(executor.Address(kDiffC), nullptr);
  };
  hooks.at[kUpdateWeight] = [&] {
    EXPECT_NE(executor.Address(kDiffA), nullptr);
    EXPECT_EQ(executor.Address(kDiffB), nullptr);
    EXPECT_EQ(executor.Address(kA), nullptr);
  };
  RunAll(&executor, &hooks);
  EXPECT_NE(executor.Address(kC), nullptr);
  EXPECT_EQ(executor.Address(kDiffA), nullptr);
}

TEST_F(ExecutorTest, OverwrittenTensorHasNoAddressBeforeItIsFreed) {
  Plan plan = plan_;
  std::swap(plan.steps[8], plan.steps[9]);
  plan.steps.erase(plan.steps.begin() + 11);  // B is no longer freed
  plan.steps.resize(11);
  plan.pass_end = {11, 11, 11};
  Executor executor(graph_, plan, backend_.get());
  Hooks hooks;
  executor.Run(Pass::kForward, &hooks);
  EXPECT_EQ(executor.Address(kB), nullptr);
  EXPECT_EQ(executor.Find(kB), nullptr);
  EXPECT_NE(executor.Find(kC), nullptr);
}

TEST_F(ExecutorTest, FindsAValueInTheHostTierAfterTheForwardPass) {
  Executor executor(graph_, plan_, backend_.get());
  Hooks hooks;
  hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
  executor.Run(Pass::kForward, &hooks);
  EXPECT_EQ(executor.Address(kA), nullptr);
  const void* found = executor.Find(kA);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(std::memcmp(found, std::string(kBytes, 'a').data(), kBytes), 0);
}

TEST_F(ExecutorTest, FindsAValueInAFileAndUsesWritesToItUntilTheNextForward) {
  const std::unique_ptr<Backend> backend = MakeCpuBackend(::testing::TempDir());
  Executor executor(graph_, plan_, backend.get());
  Hooks hooks;
  hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
  executor.Run(Pass::kForward, &hooks);
  void* found = const_cast<void*>(executor.Find(kA));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(std::memcmp(found, std::string(kBytes, 'a').data(), kBytes), 0);
  std::memset(found, 'b', kBytes);
  EXPECT_EQ(executor.Find(kA), found);
  std::string read;
  hooks.at[kBackwardB] = [&] {
    read.assign(static_cast<const char*>(executor.Address(kA)), kBytes);
  };
  executor.Run(Pass::kBackward, &hooks);
  EXPECT_EQ(read, std::string(kBytes, 'b'));
  executor.Run(Pass::kForward, &hooks);
  executor.Run(Pass::kBackward, &hooks);
  EXPECT_EQ(read, std::string(kBytes, 'a'));
}

TEST_F(ExecutorTest, FindWaitsForAPendingCopy) {
  // The backward pass ends while A is on its way back.
  Plan plan = plan_;
  plan.pass_end[1] = 21;
  Executor executor(graph_, plan, backend_.get());
  Hooks hooks;
  hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
  for (int i = 0; i < 100; ++i) {
    executor.Run(Pass::kForward, &hooks);
    executor.Run(Pass::kBackward, &hooks);
    const void* found = executor.Find(kA);
    ASSERT_EQ(found, executor.Address(kA));
    ASSERT_EQ(std::memcmp(found, std::string(kBytes, 'a').data(), kBytes), 0);
  }
}

TEST_F(ExecutorTest, AwaitLoadDoesNotWaitForLaterCopies) {
  // The backward pass ends while A is on its way back.
  Plan plan = plan_;
  plan.pass_end[1] = 21;
  Executor executor(graph_, plan, backend_.get());
  Hooks hooks;
  hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
  executor.Run(Pass::kForward, &hooks);
  executor.Run(Pass::kBackward, &hooks);
  std::promise<void> gate;
  backend_->Call(Lane::kLoad, [open = gate.get_future().share()] { open.wait(); });
  const std::future<void> awaited = std::async(std::launch::async, [&] { executor.AwaitLoad(kA); });
  const bool in_time = awaited.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  if (in_time) {
    EXPECT_EQ(std::memcmp(executor.Address(kA), std::string(kBytes, 'a').data(), kBytes), 0);
  }
  gate.set_value();
  EXPECT_TRUE(in_time);
}

TEST_F(ExecutorTest, HostCopyIsStaleAfterTheTensorIsWrittenAgain) {
  Plan plan;
  plan.device_bytes = 3 * kBytes;
  plan.host_bytes = kBytes;
  plan.readable = {kA};
  plan.homes = {{kInput, Tier::kDevice, 0}, {kWeight, Tier::kDevice, kBytes}};
  plan.steps = {Alloc(kA, 2), Compute(kForwardA),      Alloc(kA, 0, Tier::kHost),
                Offload(kA),  Wait(Lane::kCompute, 3), Compute(kForwardA),
                Free(kA)};
  plan.pass_end = {7, 7, 7};
  Executor executor(graph_, plan, backend_.get());
  Hooks hooks;
  executor.Run(Pass::kForward, &hooks);
  EXPECT_EQ(executor.Find(kA), nullptr);
}

TEST_F(ExecutorTest, FillZeroes) {
  Executor executor(graph_, plan_, backend_.get(), {.poison = true});
  Hooks hooks;
  hooks.at[kBackwardC] = [&] {
    EXPECT_EQ(std::memcmp(executor.Address(kDiffC), std::string(kBytes, 0).data(), kBytes), 0);
  };
  RunAll(&executor, &hooks);
  EXPECT_EQ(hooks.ran.size(), 6u);
}

TEST_F(ExecutorTest, ForwardMayFollowForward) {
  for (const bool poison : {false, true}) {
    Executor executor(graph_, plan_, backend_.get(), {.poison = poison});
    Hooks hooks;
    executor.Run(Pass::kForward, &hooks);
    EXPECT_NE(executor.Address(kC), nullptr);
    hooks.at[kForwardA] = [&] { EXPECT_EQ(executor.Address(kC), nullptr); };
    executor.Run(Pass::kForward, &hooks);
    executor.Run(Pass::kUpdate, &hooks);
    executor.Run(Pass::kForward, &hooks);
    executor.Run(Pass::kBackward, &hooks);
    EXPECT_TRUE(!poison || executor.SentinelsIntact());
  }
}

TEST_F(ExecutorTest, BackwardMustFollowForward) {
  Executor executor(graph_, plan_, backend_.get());
  Hooks hooks;
  EXPECT_THROW(executor.Run(Pass::kBackward, &hooks), std::logic_error);
  executor.Run(Pass::kForward, &hooks);
  executor.Run(Pass::kBackward, &hooks);
  EXPECT_THROW(executor.Run(Pass::kBackward, &hooks), std::logic_error);
}

TEST_F(ExecutorTest, KnowsItsStepWhileItRuns) {
  Executor executor(graph_, plan_, backend_.get());
  Hooks hooks;
  EXPECT_FALSE(executor.running());
  EXPECT_EQ(executor.current_step(), kNone);
  hooks.at[kForwardC] = [&] {
    EXPECT_TRUE(executor.running());
    EXPECT_EQ(executor.current_step(), 7);
    EXPECT_THROW(executor.Run(Pass::kForward, &hooks), std::logic_error);
  };
  RunAll(&executor, &hooks);
  EXPECT_FALSE(executor.running());
  EXPECT_EQ(executor.current_step(), kNone);
}

TEST_F(ExecutorTest, RecoversFromAnOperationThatThrows) {
  Executor executor(graph_, plan_, backend_.get());
  Hooks hooks;
  hooks.at[kForwardC] = [] { throw std::runtime_error("no"); };
  EXPECT_THROW(executor.Run(Pass::kForward, &hooks), std::runtime_error);
  EXPECT_FALSE(executor.running());
  EXPECT_THROW(executor.Run(Pass::kBackward, &hooks), std::logic_error);
  Toy toy(graph_);
  toy.Attach(&executor);
  toy.RunIteration();
  EXPECT_EQ(toy.wrong(), std::vector<std::string>());
}

TEST_F(ExecutorTest, ThrowsWhenAnArenaIsTooLarge) {
  for (int64_t Plan::*bytes : {&Plan::device_bytes, &Plan::host_bytes}) {
    Plan plan = plan_;
    plan.*bytes = int64_t{1} << 60;
    EXPECT_THROW(Executor(graph_, plan, backend_.get()), std::bad_alloc);
    EXPECT_EQ(backend_->Allocated(Tier::kDevice), 0);
    EXPECT_EQ(backend_->Allocated(Tier::kHost), 0);
  }
}

TEST_F(ExecutorTest, RefusesRangesOutsideTheArena) {
  for (const int64_t offset :
       {int64_t{-256}, 5 * kBytes, 4 * kBytes + 256, std::numeric_limits<int64_t>::max()}) {
    Plan plan = plan_;
    plan.steps[13].offset = offset;
    EXPECT_THROW(Executor(graph_, plan, backend_.get()), std::invalid_argument);
    plan = plan_;
    plan.homes[1].offset = offset;
    EXPECT_THROW(Executor(graph_, plan, backend_.get()), std::invalid_argument);
  }
  EXPECT_EQ(backend_->Allocated(Tier::kDevice), 0);
}

TEST_F(ExecutorTest, FreesItsArenas) {
  {
    Executor executor(graph_, plan_, backend_.get());
    Hooks hooks;
    executor.Run(Pass::kForward, &hooks);
    EXPECT_EQ(backend_->Allocated(Tier::kDevice), plan_.device_bytes);
    EXPECT_EQ(backend_->Allocated(Tier::kHost), plan_.host_bytes);
  }
  EXPECT_EQ(backend_->Allocated(Tier::kDevice), 0);
  EXPECT_EQ(backend_->Allocated(Tier::kHost), 0);
}

TEST_F(ExecutorTest, RecordsCopiesThatOverlapOperations) {
  Executor executor(graph_, plan_, backend_.get(), {.record = true});
  Hooks hooks;
  Event closed;
  // The save lane is blocked until C runs, and C runs until A has been saved.
  hooks.at[kForwardA] = [&] {
    closed = backend_->Record(Lane::kLoad);
    backend_->Wait(Lane::kSave, {Lane::kLoad, closed.ticket + 1});
  };
  hooks.at[kForwardC] = [&] {
    backend_->Record(Lane::kLoad);
    backend_->Wait(Lane::kCompute, backend_->Record(Lane::kSave));
  };
  RunAll(&executor, &hooks);
  std::map<int32_t, Span> spans;
  for (const Span& span : executor.timeline().spans) {
    EXPECT_LE(span.begin, span.end);
    EXPECT_GE(span.begin, 0);
    spans[span.step] = span;
  }
  EXPECT_EQ(spans.size(), 9u);  // six operations, a Fill and two copies
  EXPECT_EQ(spans[5].lane, Lane::kSave);
  EXPECT_EQ(spans[18].lane, Lane::kLoad);
  EXPECT_EQ(spans[7].lane, Lane::kCompute);
  EXPECT_GE(spans[5].begin, spans[7].begin);
  EXPECT_LE(spans[5].end, spans[7].end);
  EXPECT_GE(spans[18].begin, spans[14].end);
  EXPECT_GE(spans[22].begin, spans[18].end);
  EXPECT_GT(executor.timeline().stalled, 0);
  EXPECT_LE(executor.timeline().stalled, executor.timeline().seconds);
  EXPECT_DOUBLE_EQ(executor.timeline().seconds, spans[25].end - spans[1].begin);
}

TEST_F(ExecutorTest, RecordsTheLastIterationOnly) {
  Executor executor(graph_, plan_, backend_.get(), {.record = true});
  EXPECT_TRUE(executor.timeline().spans.empty());
  Hooks hooks;
  for (int i = 0; i < 3; ++i) {
    RunAll(&executor, &hooks);
    EXPECT_EQ(executor.timeline().spans.size(), 9u);
    EXPECT_LT(executor.timeline().spans[0].begin, 10.0);
  }
}

}  // namespace
}  // namespace layrub
