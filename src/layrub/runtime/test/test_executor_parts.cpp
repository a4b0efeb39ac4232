// Partly evicted tensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/device/device.hpp"
#include "layrub/runtime/executor.hpp"
#include "layrub/runtime/test/chain.hpp"
#include "layrub/runtime/test/chain_in_part.hpp"
#include "layrub/runtime/test/hooks.hpp"
#include "layrub/runtime/test/toy.hpp"

namespace layrub {
namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::testing;

constexpr Pass kPasses[] = {Pass::kForward, Pass::kBackward, Pass::kUpdate};

class ExecutorParts : public ::testing::Test {
 protected:
  /// Expects in all iterations of `plan_` the same values as without a plan.
  void Run(Backend* backend, const ExecutorOptions& options) const {
    Executor executor(graph_, plan_, backend, options);
    Toy toy(graph_);
    Interpreter plain(graph_);
    toy.Attach(&executor);
    constexpr int kIterations = 10;
    for (int i = 0; i < kIterations; ++i) {
      toy.RunIteration();
      plain.RunAll();
    }
    EXPECT_EQ(toy.wrong(), std::vector<std::string>());
    EXPECT_EQ(toy.expected().Value(kWeight), plain.Value(kWeight));
    EXPECT_EQ(executor.bytes_offloaded(), kIterations * (kBytes - kPart));
    EXPECT_EQ(executor.bytes_prefetched(), kIterations * (kBytes - kPart));
    if (options.poison || options.canary) {
      EXPECT_EQ(executor.TouchedBytes(), plan_.device_bytes);
    }
    EXPECT_TRUE(!options.poison || executor.SentinelsIntact());
    const size_t spans = 7 + 2 + 3;  // operations, copies, moves
    EXPECT_EQ(executor.timeline().spans.size(), options.record ? spans : 0);
  }

  /// Runs two iterations of `plan` and calls `act` at `op`. Returns true if nothing was written
  /// outside live ranges.
  bool Intact(const Plan& plan, OpId op, const std::function<void(Executor*)>& act) const {
    Executor executor(graph_, plan, backend_.get(), {.poison = true});
    Hooks hooks;
    hooks.at[op] = [&] { act(&executor); };
    for (int i = 0; i < 2; ++i) {
      for (const Pass pass : kPasses) executor.Run(pass, &hooks);
    }
    return executor.SentinelsIntact();
  }

  /// Returns the plan up to the end of the forward pass, after `change`.
  Plan Forward(const std::function<void(std::vector<Step>*)>& change) const {
    Plan plan = plan_;
    plan.steps.resize(plan.pass_end[0]);
    change(&plan.steps);
    const auto end = static_cast<int32_t>(plan.steps.size());
    plan.pass_end = {end, end, end};
    return plan;
  }

  /// Whether A, filled with 'a', can be read after `plan`.
  static bool IsFound(const Graph& graph, const Plan& plan, Backend* backend) {
    Executor executor(graph, plan, backend);
    Hooks hooks;
    hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
    executor.Run(Pass::kForward, &hooks);
    const void* found = executor.Find(kA);
    EXPECT_TRUE(!found || std::memcmp(found, std::string(kBytes, 'a').data(), kBytes) == 0);
    return found != nullptr;
  }

  template <typename Is>
  static size_t FirstOf(const std::vector<Step>& steps, Is is) {
    return static_cast<size_t>(std::find_if(steps.begin(), steps.end(), is) - steps.begin());
  }
  /// The step that frees A except for its part.
  static size_t FreeOf(const std::vector<Step>& steps) {
    return FirstOf(steps,
                   [](const Step& step) { return step.kind == StepKind::kFree && step.begin > 0; });
  }

  static Step FreePart() {
    Step step = testing::Free(kA);
    step.end = kPart;
    return step;
  }

  /// The device memory at offset 0 of the plan.
  static char* Base(Executor* executor) { return static_cast<char*>(executor->Address(kInput)); }
  static bool IsPoison(const char* begin, int64_t bytes) {
    std::vector<float> values(static_cast<size_t>(bytes) / sizeof(float));
    std::memcpy(values.data(), begin, static_cast<size_t>(bytes));
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
  }

  const Graph graph_ = Chain();
  const Plan plan_ = ChainInPart();
  const std::shared_ptr<Backend> backend_ = MakeCpuBackend();
};

TEST_F(ExecutorParts, GiveTheSameValuesOnEveryBackendAndTier) {
  const std::unique_ptr<Device> device = MakeEmulatedDevice(int64_t{1} << 26);
  for (const std::string& file : {std::string(), ::testing::TempDir()}) {
    const std::unique_ptr<Backend> on_cpu = MakeCpuBackend(file);
    const std::unique_ptr<Backend> emulated = device->MakeBackend(file);
    device->BeginKernel();  // the toy's operations are host functions
    for (Backend* const backend : {on_cpu.get(), emulated.get()}) {
      Run(backend, {});
      Run(backend, {.record = true, .canary = true});
      Run(backend, {.record = true, .poison = true});
    }
    device->EndKernel();
  }
}

TEST_F(ExecutorParts, GiveTheSameValuesInSharedMemory) {
  const auto memory = std::make_shared<TransientMemory>(backend_);
  Executor other(graph_, plan_, backend_.get(), {.poison = true, .transient = memory});
  Hooks nothing;
  other.Run(Pass::kForward, &nothing);
  Run(backend_.get(), {.poison = true, .transient = memory});
}

TEST_F(ExecutorParts, HaveNoAddressAndNoValueUntilPrefetched) {
  Executor executor(graph_, plan_, backend_.get());
  Hooks hooks;
  void* a = nullptr;
  hooks.at[kForwardC] = [&] {
    a = executor.Address(kA);
    EXPECT_EQ(executor.Find(kA), a);
  };
  hooks.at[kBackwardC] = [&] {
    EXPECT_EQ(executor.Address(kA), nullptr);
    EXPECT_EQ(executor.Find(kA), nullptr);
  };
  hooks.at[kBackwardB] = [&] {
    EXPECT_EQ(executor.Address(kA), a);
    EXPECT_EQ(executor.Find(kA), a);
  };
  executor.Run(Pass::kForward, &hooks);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(executor.Address(kA), nullptr);
  EXPECT_EQ(executor.Find(kA), nullptr);
  executor.Run(Pass::kBackward, &hooks);
  EXPECT_EQ(hooks.ran.back(), kBackwardB);
}

TEST_F(ExecutorParts, AreNotFoundBeforeThePrefetch) {
  const size_t first = FirstOf(plan_.steps, IsPrefetch);
  for (const int copies : {0, 1}) {
    Plan plan = plan_;
    plan.steps.resize(first + copies);
    const auto end = static_cast<int32_t>(plan.steps.size());
    plan.pass_end = {end, end, end};
    EXPECT_EQ(IsFound(graph_, plan, backend_.get()), copies == 1);
  }
}

TEST_F(ExecutorParts, KeepTheirBytesAndPoisonTheRest) {
  Executor executor(graph_, plan_, backend_.get(), {.poison = true});
  Hooks hooks;
  hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
  const std::string part(kPart, 'a');
  executor.Run(Pass::kForward, &hooks);
  const char* const base = Base(&executor);
  EXPECT_EQ(std::string(base + kOffsetOfA, kPart), part);
  EXPECT_TRUE(IsPoison(base + kOffsetOfA + kPart, kBytes - kPart));
  hooks.at[kBackwardC] = [&] { EXPECT_EQ(std::string(base + kOffsetOfPart, kPart), part); };
  hooks.at[kBackwardB] = [&] {
    EXPECT_EQ(std::string(static_cast<char*>(executor.Address(kA)), kBytes),
              std::string(kBytes, 'a'));
    EXPECT_TRUE(IsPoison(base + kOffsetOfPart, kPart));
  };
  executor.Run(Pass::kBackward, &hooks);
  EXPECT_TRUE(executor.SentinelsIntact());
}

TEST_F(ExecutorParts, PoisonTheBytesTheySlideOff) {
  Plan plan = plan_;
  const size_t slide = FirstOf(plan.steps, IsMove);
  const auto end = static_cast<int32_t>(slide + 1);
  plan.steps.resize(end);
  plan.pass_end = {end, end, end};
  Executor executor(graph_, plan, backend_.get(), {.poison = true});
  Hooks hooks;
  hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
  executor.Run(Pass::kForward, &hooks);
  const char* const base = Base(&executor);
  EXPECT_TRUE(IsPoison(base + kOffsetOfA, kShift));
  EXPECT_EQ(std::string(base + kOffsetOfA + kShift, kPart), std::string(kPart, 'a'));
  EXPECT_TRUE(IsPoison(base + kOffsetOfA + kShift + kPart, kBytes - kShift - kPart));
  EXPECT_TRUE(executor.SentinelsIntact());
}

TEST_F(ExecutorParts, MayBeFreedWithoutComingBack) {
  const Plan plan = Forward([](auto* steps) {
    steps->push_back(FreePart());
    steps->push_back(testing::Free(kA, Tier::kHost));
  });
  Executor executor(graph_, plan, backend_.get(), {.poison = true});
  Hooks hooks;
  hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
  for (int i = 0; i < 2; ++i) executor.Run(Pass::kForward, &hooks);
  EXPECT_EQ(executor.Find(kA), nullptr);
  EXPECT_TRUE(IsPoison(Base(&executor) + kOffsetOfA, kBytes));
  EXPECT_TRUE(executor.SentinelsIntact());
}

TEST_F(ExecutorParts, OnlyAWholeCopyInHostMemoryIsFound) {
  const std::unique_ptr<Backend> file = MakeCpuBackend(::testing::TempDir());
  const auto free = [](auto* steps) { steps->push_back(FreePart()); };
  const auto save_all = [](auto* steps) {
    steps->insert(steps->begin() + FreeOf(*steps), testing::Offload(kA));
  };
  const auto save_all_before = [&](auto* steps) {
    steps->insert(steps->begin() + FirstOf(*steps, IsOffload), testing::Offload(kA));
    free(steps);
  };
  for (Backend* const backend : {backend_.get(), file.get()}) {
    EXPECT_FALSE(IsFound(graph_, Forward(free), backend));
    EXPECT_TRUE(IsFound(graph_, Forward(save_all), backend));
    EXPECT_TRUE(IsFound(graph_, Forward(save_all_before), backend))
        << "the copy that begins later is of the same value";
  }
}

TEST_F(ExecutorParts, DetectAWriteBesideThem) {
  const auto writes = [&](OpId op, int64_t offset) {
    return !Intact(plan_, op, [=](Executor* e) { Base(e)[offset] = 1; });
  };
  EXPECT_FALSE(writes(kBackwardC, kOffsetOfPart)) << "the part's own";
  EXPECT_TRUE(writes(kForwardA, kOffsetOfPart)) << "where the part will be";
  EXPECT_TRUE(writes(kBackwardB, kOffsetOfPart)) << "where the part was";
}

TEST_F(ExecutorParts, DetectAWriteToTheFreedRestWhenItIsTakenAgain) {
  // The part stays where it is, and the rest is free until A takes it again.
  Plan plan = plan_;
  const auto saved = static_cast<int32_t>(FirstOf(plan.steps, IsOffload));
  for (Step& step : plan.steps) {
    const bool for_move = step.kind == StepKind::kWait && IsMove(plan_.steps[step.step]);
    if (for_move) step.step = saved;
    if (IsMove(step)) step = testing::Wait(Lane::kCompute, saved);
    if (step.tensor == kDiffC && step.kind == StepKind::kAlloc) step.offset = 5 * kBytes;
  }
  plan.device_bytes = 6 * kBytes;
  EXPECT_TRUE(Intact(plan, kBackwardC, [](Executor*) {}));
  EXPECT_TRUE(Intact(plan, kBackwardC, [](Executor* e) { Base(e)[kOffsetOfA + kPart - 1] = 1; }));
  for (const int64_t at : {kPart, kBytes - 1}) {
    EXPECT_FALSE(Intact(plan, kBackwardC, [=](Executor* e) { Base(e)[kOffsetOfA + at] = 1; }));
  }
}

TEST_F(ExecutorParts, DetectAWriteToTheFreedRestAtOnce) {
  Executor executor(graph_, plan_, backend_.get(), {.poison = true});
  Hooks hooks;
  executor.Run(Pass::kForward, &hooks);
  char* const a = Base(&executor) + kOffsetOfA;
  a[kPart - 1] = 1;
  EXPECT_TRUE(executor.SentinelsIntact());
  a[kPart] = 1;
  EXPECT_FALSE(executor.SentinelsIntact());
}

TEST_F(ExecutorParts, DetectAnAllocElsewhereThatIgnoresThePart) {
  Plan plan = plan_;
  for (Step& step : plan.steps) {
    const bool back = IsMove(step) && step.offset == kOffsetOfA;
    if (back) step.offset = kOffsetOfPart;
  }
  EXPECT_FALSE(Intact(plan, kBackwardC,
                      [](Executor* e) { std::memset(Base(e) + kOffsetOfPart, 'a', kPart); }));
}

TEST_F(ExecutorParts, RefuseBytesThatAreNoPart) {
  const auto refuses = [&](size_t at, const std::function<void(Step*)>& change,
                           const std::string& words) {
    Plan plan = plan_;
    change(&plan.steps[at]);
    try {
      Executor(graph_, plan, backend_.get());
      ADD_FAILURE() << "nobody says that it " << words;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  const size_t move = FirstOf(plan_.steps, IsMove);
  const auto alloc = [](const Step& step) { return step.kind == StepKind::kAlloc; };
  using Range = std::pair<int64_t, int64_t>;
  for (const size_t at : {FreeOf(plan_.steps), move, FirstOf(plan_.steps, IsOffload),
                          FirstOf(plan_.steps, IsPrefetch), FirstOf(plan_.steps, alloc)}) {
    for (const auto& [begin, end] :
         {Range{0, kPart + 1}, Range{kPart, kPart}, Range{kPart + 1, kBytes}, Range{-kPart, kBytes},
          Range{kBytes, kBytes}, Range{0, kBytes + kAlignment}}) {
      const auto change = [begin = begin, end = end](Step* step) {
        step->begin = begin;
        step->end = end;
      };
      refuses(at, change,
              "covers bytes [" + std::to_string(begin) + ", " + std::to_string(end) +
                  ") of tensor a, which has " + std::to_string(kBytes));
    }
  }
  refuses(
      move, [](Step* step) { step->offset = kOffsetOfPart + kAlignment; }, "outside the arena");
  refuses(
      move, [](Step* step) { step->end = 2 * kPart, step->offset = kOffsetOfPart; },
      "outside the arena");
  EXPECT_EQ(backend_->Allocated(Tier::kDevice), 0);
}

}  // namespace
}  // namespace layrub
