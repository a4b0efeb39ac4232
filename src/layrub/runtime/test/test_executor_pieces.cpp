// Copies between host and device that go in pieces.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/runtime/executor.hpp"
#include "layrub/runtime/test/chain.hpp"
#include "layrub/runtime/test/hooks.hpp"
#include "layrub/runtime/test/toy.hpp"

namespace layrub {
namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::testing;

class ExecutorPieces : public ::testing::Test {
 protected:
  const Graph graph_ = Chain();
  const std::unique_ptr<Backend> backend_ = MakeCpuBackend();
};

/// The chain's plan with A's copies in two pieces each. What waits for a copy waits for the last.
Plan InTwoPieces() {
  Plan plan = ChainPlan();
  for (const int at : {20, 7}) {
    Step& piece = plan.steps[at];
    piece.bytes = kBytes / 4;
    Step last = piece;
    last.offset = kBytes / 4;
    last.bytes = kBytes - kBytes / 4;
    plan.steps.insert(plan.steps.begin() + at + 1, last);
    for (Step& step : plan.steps) step.step += step.kind == StepKind::kWait && step.step >= at;
    for (int32_t& end : plan.pass_end) end += end > at;
  }
  return plan;
}

TEST_F(ExecutorPieces, CopiesInPieces) {
  Executor executor(graph_, InTwoPieces(), backend_.get(), {.record = true, .poison = true});
  Toy toy(graph_);
  toy.Attach(&executor);
  for (int i = 0; i < 20; ++i) toy.RunIteration();
  EXPECT_EQ(toy.wrong(), std::vector<std::string>());
  EXPECT_EQ(executor.bytes_offloaded(), 20 * kBytes);
  EXPECT_EQ(executor.bytes_prefetched(), 20 * kBytes);
  EXPECT_EQ(executor.timeline().spans.size(), 11u) << "each piece is recorded by itself";
}

TEST_F(ExecutorPieces, AValueIsWhereItWasUntilItsLastPieceIsThere) {
  for (const int end : {8, 9, 22, 23}) {
    // A pass ends after the first or the last piece that goes (7 and 8) or comes (21 and 22).
    Plan plan = InTwoPieces();
    plan.pass_end = {end, end, end};
    plan.steps.resize(end);
    Executor executor(graph_, plan, backend_.get());
    Hooks hooks;
    hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
    executor.Run(Pass::kForward, &hooks);
    const void* found = executor.Find(kA);
    ASSERT_NE(found, nullptr) << end;
    EXPECT_EQ(std::memcmp(found, std::string(kBytes, 'a').data(), kBytes), 0) << end;
    EXPECT_EQ(found == executor.Address(kA), end != 22) << end;
  }
}

TEST_F(ExecutorPieces, RefusesPiecesThatTheTensorDoesNotHave) {
  for (const auto& [offset, bytes] : std::vector<std::pair<int64_t, int64_t>>{
           {0, kBytes + 1}, {256, kBytes - 255}, {-256, 512}, {0, -1}, {kBytes, 1}}) {
    Plan plan = ChainPlan();
    plan.steps[7].offset = offset;
    plan.steps[7].bytes = bytes;
    EXPECT_THROW(Executor(graph_, plan, backend_.get()), std::invalid_argument);
  }
  EXPECT_EQ(backend_->Allocated(Tier::kDevice), 0);
}

TEST_F(ExecutorPieces, FetchesFromAFileInPieces) {
  const std::unique_ptr<Backend> backend = MakeCpuBackend(::testing::TempDir());
  Executor executor(graph_, InTwoPieces(), backend.get());
  Hooks hooks;
  hooks.at[kForwardA] = [&] { std::memset(executor.Address(kA), 'a', kBytes); };
  executor.Run(Pass::kForward, &hooks);
  void* found = const_cast<void*>(executor.Find(kA));
  ASSERT_NE(found, nullptr);
  std::memset(found, 'b', kBytes);
  std::string read;
  hooks.at[kBackwardB] = [&] {
    read.assign(static_cast<const char*>(executor.Address(kA)), kBytes);
  };
  executor.Run(Pass::kBackward, &hooks);
  EXPECT_EQ(read, std::string(kBytes, 'b'));
}

}  // namespace
}  // namespace layrub
