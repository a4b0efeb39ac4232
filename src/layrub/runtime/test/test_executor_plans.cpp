#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/device/device.hpp"
#include "layrub/placement/check/check.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"
#include "layrub/placement/test/slides.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "layrub/placement/test/tiers.hpp"
#include "layrub/runtime/executor.hpp"
#include "layrub/runtime/test/allocation_hook.hpp"
#include "layrub/runtime/test/chain.hpp"
#include "layrub/runtime/test/hooks.hpp"
#include "layrub/runtime/test/toy.hpp"

// Runs the plans of every strategy for random graphs: they must compute the same bits as no plan.
namespace layrub {
namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::testing;

constexpr int kIterations = 3;
const int kSeeds = Sampled() ? 12 : 40;
constexpr int64_t kPadding = 2 * kAlignment;

std::vector<Graph> Graphs() {
  std::vector<Graph> graphs{Chain(), FedChain()};
  for (int seed = 1; seed <= kSeeds; ++seed) graphs.push_back(RandomGraph(seed, 3 + seed % 23));
  return graphs;
}

/// Values of the state tensors after kIterations without any plan.
std::vector<Bytes> RunWithoutPlan(const Graph& graph) {
  Interpreter interpreter(graph);
  for (int i = 0; i < kIterations; ++i) interpreter.RunAll();
  std::vector<Bytes> state;
  for (TensorId i = 0; i < static_cast<TensorId>(graph.tensors.size()); ++i) {
    if (graph.tensors[i].is_state()) state.push_back(interpreter.Value(i));
  }
  return state;
}

std::vector<Bytes> StateOf(Executor* executor) {
  std::vector<Bytes> state;
  const Graph& graph = executor->graph();
  for (TensorId i = 0; i < static_cast<TensorId>(graph.tensors.size()); ++i) {
    if (!graph.tensors[i].is_state()) continue;
    const uint8_t* value = static_cast<const uint8_t*>(executor->Find(i));
    state.emplace_back(value, value + graph.tensors[i].bytes);
  }
  return state;
}

struct Planned {
  Graph graph;
  Plan plan;
};

/// Plans of all graphs. Made once for all tests, because planning takes longer than running.
const std::vector<Planned>& TightPlans(const std::string& strategy, int64_t padding) {
  static std::map<std::pair<std::string, int64_t>, std::vector<Planned>> known;
  const auto [plans, is_new] = known.try_emplace({strategy, padding});
  for (Graph& graph : is_new ? Graphs() : std::vector<Graph>()) {
    Plan plan = testing::PlanTightly(graph, strategy, padding);
    plans->second.push_back({std::move(graph), std::move(plan)});
  }
  return plans->second;
}

class PlansTest : public ::testing::TestWithParam<std::string> {
 protected:
  static const std::vector<Planned>& Plans(int64_t padding = 0) {
    return TightPlans(GetParam(), padding);
  }

  /// Runs kIterations, and expects the same bits as without a plan, at every read and at the end.
  void Run(Executor* executor) {
    const Graph& graph = executor->graph();
    Toy toy(graph);
    toy.Attach(executor);
    for (int i = 0; i < kIterations; ++i) toy.RunIteration();
    EXPECT_EQ(toy.wrong(), std::vector<std::string>()) << graph.name;
    EXPECT_EQ(StateOf(executor), RunWithoutPlan(graph)) << graph.name;
  }

  const std::unique_ptr<Backend> backend_ = MakeCpuBackend();
};

TEST_P(PlansTest, GivesTheSameBitsAsNoPlan) {
  for (const auto& [graph, plan] : Plans()) {
    Executor executor(graph, plan, backend_.get());
    Run(&executor);
  }
}

TEST_P(PlansTest, GivesTheSameBitsWhenRecorded) {
  for (const auto& [graph, plan] : Plans()) {
    Executor executor(graph, plan, backend_.get(), {.record = true});
    Run(&executor);
    double compute_end = 0;
    for (const Span& span : executor.timeline().spans) {
      EXPECT_LE(span.begin, span.end);
      if (span.lane != Lane::kCompute) continue;
      EXPECT_GE(span.begin, compute_end);
      compute_end = span.end;
    }
    EXPECT_LE(executor.timeline().stalled, executor.timeline().seconds);
  }
}

TEST_P(PlansTest, NeverReadsFreedRanges) {
  for (const auto& [graph, plan] : Plans()) {
    Executor executor(graph, plan, backend_.get(), {.poison = true});
    Run(&executor);
    EXPECT_TRUE(executor.SentinelsIntact()) << graph.name;
  }
}

TEST_P(PlansTest, GivesTheSameBitsWhenSpillingToAFile) {
  const std::unique_ptr<Backend> backend = MakeCpuBackend(::testing::TempDir());
  int64_t spilled = 0;
  for (const auto& [graph, in_memory] : Plans()) {
    for (const int64_t part : {0, 2}) {
      Budget budget{.host = part == 0 ? 0 : in_memory.host_bytes / part,
                    .spill = kUnlimitedBudget.spill};
      budget.device = SmallestBudget(graph, GetParam(), budget);
      const Plan plan =
          MakePlanOfAnySize(graph, {}, budget, GetParam(), part == 0 ? kPadding : 0).value();
      ASSERT_EQ(Check(graph, plan, {kUnlimitedBudget.device, budget.host, budget.spill}),
                std::vector<std::string>());
      spilled += plan.spill_bytes;
      Executor executor(graph, plan, backend.get(), {.poison = true});
      Run(&executor);
      EXPECT_TRUE(executor.SentinelsIntact()) << graph.name;
    }
  }
  EXPECT_EQ(spilled > 0, testing::Moves(GetParam()) || testing::Adapts(GetParam()));
}

TEST_P(PlansTest, WritesNothingBetweenRanges) {
  for (const auto& [graph, plan] : Plans(kPadding)) {
    Executor executor(graph, plan, backend_.get(), {.poison = true});
    Run(&executor);
    EXPECT_TRUE(executor.SentinelsIntact()) << graph.name;
  }
}

TEST_P(PlansTest, TouchesExactlyThePlannedDeviceBytes) {
  for (const auto& [graph, plan] : Plans()) {
    Executor executor(graph, plan, backend_.get(), {.canary = true});
    Run(&executor);
    EXPECT_EQ(Aligned(executor.TouchedBytes()), plan.device_bytes) << graph.name;
  }
}

TEST_P(PlansTest, CopiesTheBytesOfThePlan) {
  int64_t moved = 0;
  for (const auto& [graph, plan] : Plans()) {
    const int64_t down = testing::BytesOffloaded(graph, plan);
    int64_t up = 0;
    for (const Step& step : plan.steps) {
      if (!IsOffload(step)) up += CopiedBytes(graph, step);
    }
    Executor executor(graph, plan, backend_.get());
    Run(&executor);
    EXPECT_EQ(executor.bytes_offloaded(), kIterations * down);
    EXPECT_EQ(executor.bytes_prefetched(), kIterations * up);
    moved += down;
  }
  EXPECT_EQ(moved > 0, testing::Moves(GetParam()) || testing::Adapts(GetParam()));
}

TEST_P(PlansTest, AllocatesNothingLargeWhileItRuns) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer's allocator is in place";
  Graph graph = RandomGraph(7, 60);
  // A hundred times larger, so that a copy of most of the tensors would be noticed.
  for (Tensor& tensor : graph.tensors) tensor.bytes *= 100;
  const Plan plan = testing::PlanTightly(graph, GetParam(), 0);
  for (const bool record : {false, true}) {
    Executor executor(graph, plan, backend_.get(), {.record = record});
    Toy toy(graph);
    toy.Attach(&executor);
    StartCounting();
    for (int i = 0; i < kIterations; ++i) toy.RunIteration();
    const Allocations allocations = StopCounting();
    EXPECT_EQ(toy.wrong(), std::vector<std::string>());
    EXPECT_GT(allocations.count, 0);
    EXPECT_LT(allocations.largest, size_t{64} << 10);
  }
}

void ExpectTheBitsOfNoPlan(const Graph& graph, const Plan& plan, Backend* backend,
                           const ExecutorOptions& options) {
  Executor executor(graph, plan, backend, options);
  Toy toy(graph);
  toy.Attach(&executor);
  for (int i = 0; i < kIterations; ++i) toy.RunIteration();
  EXPECT_EQ(toy.wrong(), std::vector<std::string>()) << graph.name;
  EXPECT_EQ(StateOf(&executor), RunWithoutPlan(graph)) << graph.name;
  EXPECT_TRUE(!options.poison || executor.SentinelsIntact()) << graph.name;
}

TEST(RandomPrograms, GiveTheSameBitsAndNeverReadFreedRanges) {
  const std::unique_ptr<Backend> backend = MakeCpuBackend(::testing::TempDir());
  for (int seed = 1; seed <= 3 * kSeeds; ++seed) {
    const Graph graph = RandomGraph(seed, 3 + seed % 23);
    placement::pack::Options packing = RandomPacking(seed);
    packing.padding = kPadding;
    const Result<Plan> plan =
        placement::schedule::Schedule(graph, RandomProgram(graph, seed, false), packing);
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    ExpectTheBitsOfNoPlan(graph, plan.value(), backend.get(), {.poison = seed % 2 == 0});
  }
}

TEST(MovingPlans, GiveTheSameBitsAndNeverReadFreedRanges) {
  const std::unique_ptr<Backend> backend = MakeCpuBackend(::testing::TempDir());
  int64_t moves = 0;
  for (int seed = 0; seed < 20; ++seed) {
    const Graph graph = RandomGraph(seed, 100);
    const placement::Program program = RandomProgram(graph, seed, /*reckless=*/false);
    placement::pack::Options packing = IntoPeak(graph, program, RandomPacking(seed));
    for (const bool poison : {false, true}) {
      packing.padding = poison ? kPadding : 0;
      const Plan plan = placement::schedule::Schedule(graph, program, packing).value();
      ExpectTheBitsOfNoPlan(graph, plan, backend.get(), {.record = true, .poison = poison});
      moves += MovesIn(plan);
    }
  }
  EXPECT_GT(moves, 3);
}

TEST(SlidingPlans, GiveTheSameBitsAndNeverReadFreedRanges) {
  const std::unique_ptr<Device> device = MakeEmulatedDevice(int64_t{1} << 26);
  const std::unique_ptr<Backend> on_cpu = MakeCpuBackend(::testing::TempDir()),
                                 emulated = device->MakeBackend(::testing::TempDir());
  device->BeginKernel();  // the toy's operations are host functions
  int64_t slides = 0, parts = 0;
  for (int seed = 0; seed < 2 * kSeeds; ++seed) {
    const Graph graph = RandomGraph(seed, 3 + seed % 23);
    const placement::Program program = RandomProgram(graph, seed, /*reckless=*/false);
    const bool poison = seed % 2 == 0;
    placement::pack::Options packing = RandomPacking(seed);
    packing.padding = poison ? kPadding : 0;
    const Plan packed = placement::schedule::Schedule(graph, program, packing).value();
    const Plan plan = WithSlides(graph, packed, seed);
    slides += SlidesIn(graph, plan);
    parts += PartsIn(graph, plan);
    for (Backend* const backend : {on_cpu.get(), emulated.get()})
      ExpectTheBitsOfNoPlan(graph, plan, backend, {.record = true, .poison = poison});
  }
  device->EndKernel();
  EXPECT_GT(slides, 7 * kSeeds);
  EXPECT_GT(parts, 7 * kSeeds);
}

/// A plan of the chain whose weight is at home off the device.
class WeightOnHost : public ::testing::TestWithParam<bool> {
 protected:
  WeightOnHost() {
    placement::Program program = placement::DefaultProgram(graph_);
    const placement::UseLists uses = placement::FindUses(graph_, program.runs);
    placement::TensorProgram& weight = program.tensors[kWeight];
    weight.home = placement::StateHome::kAway;
    weight.evictions = {placement::FromTheStart(uses[kWeight].front()),
                        placement::ToTheEnd(uses[kWeight].back(), program.runs)};
    plan_ = placement::schedule::Schedule(graph_, program).value();
    executor_ =
        std::make_unique<Executor>(graph_, plan_, backend_.get(), ExecutorOptions{.poison = true});
    for (const OpId op : {kForwardA, kUpdateWeight})
      hooks_.at[op] = [this] { seen_ = *static_cast<char*>(executor_->Address(kWeight)); };
  }

  char Found() { return *static_cast<const char*>(executor_->Find(kWeight)); }
  void Write(char value) {
    std::memset(const_cast<void*>(executor_->Find(kWeight)), value, kBytes);
    executor_->NoteWrite(kWeight);
  }
  char SeenBy(Pass pass) {
    seen_ = 0;
    executor_->Run(pass, &hooks_);
    return seen_;
  }

  const Graph graph_ = Chain();
  Plan plan_;
  const std::unique_ptr<Backend> backend_ = MakeCpuBackend(GetParam() ? ::testing::TempDir() : "");
  std::unique_ptr<Executor> executor_;
  Hooks hooks_;
  char seen_ = 0;
};

TEST_P(WeightOnHost, HasTheValueGivenToSetHome) {
  EXPECT_EQ(executor_->Address(kWeight), nullptr);
  executor_->SetHome(kWeight, nullptr);
  EXPECT_EQ(Found(), 0);
  executor_->SetHome(kWeight, Bytes(kBytes, 'a').data());
  EXPECT_EQ(Found(), 'a');
  EXPECT_EQ(SeenBy(Pass::kForward), 'a');
}

TEST_P(WeightOnHost, MayBeWrittenBetweenPasses) {
  executor_->SetHome(kWeight, Bytes(kBytes, 'a').data());
  Write('b');
  EXPECT_EQ(SeenBy(Pass::kForward), 'b');
  Write('c');
  EXPECT_EQ(SeenBy(Pass::kForward), 'c');
  Write('d');
  SeenBy(Pass::kBackward);
  EXPECT_EQ(Found(), 'd');
  Write('e');
  EXPECT_EQ(SeenBy(Pass::kUpdate), 'e');
  EXPECT_EQ(Found(), 'e');
  EXPECT_TRUE(executor_->SentinelsIntact());
}

TEST_P(WeightOnHost, ReturnsHomeWhateverPassRunsNext) {
  executor_->SetHome(kWeight, Bytes(kBytes, 'a').data());
  hooks_.at[kUpdateWeight] = [&] { std::memset(executor_->Address(kWeight), 'u', kBytes); };
  executor_->Run(Pass::kForward, &hooks_);
  executor_->Run(Pass::kUpdate, &hooks_);  // without a backward
  EXPECT_EQ(Found(), 'u');
  Write('w');
  hooks_.at[kUpdateWeight] = [this] { seen_ = *static_cast<char*>(executor_->Address(kWeight)); };
  EXPECT_EQ(SeenBy(Pass::kUpdate), 'w');
  EXPECT_EQ(SeenBy(Pass::kForward), 'w');
  EXPECT_TRUE(executor_->SentinelsIntact());
}

TEST(WeightInPlace, IsUsedInHostMemory) {
  Graph graph = Chain();
  graph.tensors[kWeight].host_access = true;
  placement::Program program = placement::DefaultProgram(graph);
  program.tensors[kWeight].home = placement::StateHome::kInPlace;
  const Plan plan = placement::schedule::Schedule(graph, program).value();
  const std::unique_ptr<Backend> backend = MakeCpuBackend("");
  Executor executor(graph, plan, backend.get(), {.poison = true});
  executor.SetHome(kWeight, Bytes(kBytes, 'a').data());
  EXPECT_EQ(executor.Address(kWeight), nullptr);
  const void* const home = executor.Find(kWeight);
  EXPECT_EQ(executor.AddressInUse(kWeight), home);
  char seen = 0;
  Hooks hooks;
  hooks.at[kForwardA] = [&] { seen = *static_cast<char*>(executor.AddressInUse(kWeight)); };
  hooks.at[kUpdateWeight] = [&] { std::memset(executor.AddressInUse(kWeight), 'u', kBytes); };
  for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kUpdate})
    executor.Run(pass, &hooks);
  EXPECT_EQ(seen, 'a');
  EXPECT_EQ(executor.Find(kWeight), home);
  EXPECT_EQ(*static_cast<const char*>(home), 'u');
  EXPECT_TRUE(executor.MayWrite(kWeight));
  std::memset(const_cast<void*>(home), 'w', kBytes);
  executor.NoteWrite(kWeight);
  executor.Run(Pass::kForward, &hooks);
  EXPECT_EQ(seen, 'w');
  executor.Run(Pass::kUpdate, &hooks);  // without a backward
  EXPECT_EQ(*static_cast<const char*>(executor.Find(kWeight)), 'u');
  EXPECT_EQ(executor.bytes_offloaded() + executor.bytes_prefetched(), 0);
  EXPECT_TRUE(executor.SentinelsIntact());
}

TEST_P(WeightOnHost, MayWriteIsFalseWhileAWriteWouldBeLost) {
  bool may = true, kept_may = false;
  hooks_.at[kForwardA] = [&] {
    may = executor_->MayWrite(kWeight);
    kept_may = executor_->MayWrite(kInput);
  };
  EXPECT_TRUE(executor_->MayWrite(kWeight));
  executor_->Run(Pass::kForward, &hooks_);
  EXPECT_FALSE(may);
  EXPECT_TRUE(kept_may);
}

INSTANTIATE_TEST_SUITE_P(Tiers, WeightOnHost, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "InAFile" : "InMemory");
});

INSTANTIATE_TEST_SUITE_P(Strategies, PlansTest, ::testing::ValuesIn(StrategyNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace layrub
