#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "layrub/device/transient.hpp"
#include "layrub/runtime/executor.hpp"
#include "layrub/runtime/test/chain.hpp"
#include "layrub/runtime/test/toy.hpp"

namespace layrub {
namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::testing;

class TransientTest : public ::testing::Test {
 protected:
  ExecutorOptions Shared() const { return {.poison = true, .transient = memory_}; }
  int64_t TransientBytes() const { return plan_.device_bytes - HomeBytes(graph_, plan_); }

  const Graph graph_ = Chain();
  const Plan plan_ = ChainPlan();
  const std::shared_ptr<Backend> backend_ = MakeCpuBackend();
  const std::shared_ptr<TransientMemory> memory_ = std::make_shared<TransientMemory>(backend_);
};

TEST_F(TransientTest, TwoPlansShareTheSameBytesInTurn) {
  Executor first(graph_, plan_, backend_.get(), Shared());
  Executor second(graph_, plan_, backend_.get(), Shared());
  EXPECT_EQ(backend_->Allocated(Tier::kDevice), 2 * HomeBytes(graph_, plan_) + TransientBytes());
  Toy a(graph_), b(graph_);
  a.Attach(&first);
  b.Attach(&second);
  for (int i = 0; i < 10; ++i) {
    a.RunIteration();
    if (i % 3 != 0) b.RunIteration();
    if (i % 4 == 0) b.RunIteration();
  }
  EXPECT_EQ(a.wrong(), std::vector<std::string>());
  EXPECT_EQ(b.wrong(), std::vector<std::string>());
  EXPECT_TRUE(first.SentinelsIntact());
}

TEST_F(TransientTest, ForwardTakesTheMemoryFromTheOtherUser) {
  Executor first(graph_, plan_, backend_.get(), Shared());
  Executor second(graph_, plan_, backend_.get(), Shared());
  Toy a(graph_), b(graph_);
  a.Attach(&first);
  b.Attach(&second);
  first.Run(Pass::kForward, &a);
  EXPECT_TRUE(first.ready_for_backward());
  EXPECT_NE(first.Find(kC), nullptr);
  second.Run(Pass::kForward, &b);
  EXPECT_FALSE(first.ready_for_backward());
  EXPECT_EQ(first.Find(kC), nullptr);
  EXPECT_NE(first.Find(kWeight), nullptr);
  EXPECT_THROW(first.Run(Pass::kBackward, &a), std::logic_error);
  second.Run(Pass::kBackward, &b);
  EXPECT_EQ(b.wrong(), std::vector<std::string>());
}

TEST_F(TransientTest, GrowsForALargerUserAndOutlivesUsersThatLeave) {
  auto small = std::make_unique<Executor>(graph_, plan_, backend_.get(), Shared());
  Toy a(graph_);
  a.Attach(small.get());
  small->Run(Pass::kForward, &a);
  Plan larger = plan_;
  larger.device_bytes += 4 * kBytes;
  Executor large(graph_, larger, backend_.get(), Shared());
  EXPECT_EQ(memory_->bytes(), TransientBytes() + 4 * kBytes);
  EXPECT_FALSE(small->ready_for_backward());
  a.RunIteration();
  EXPECT_EQ(a.wrong(), std::vector<std::string>());
  small.reset();
  Toy b(graph_);
  b.Attach(&large);
  b.RunIteration();
  EXPECT_EQ(b.wrong(), std::vector<std::string>());
}

TEST_F(TransientTest, EvictionForgetsValuesReadFromAFile) {
  const std::shared_ptr<Backend> backend = MakeCpuBackend(::testing::TempDir());
  const ExecutorOptions options{.transient = std::make_shared<TransientMemory>(backend)};
  Executor first(graph_, plan_, backend.get(), options);
  Executor second(graph_, plan_, backend.get(), options);
  Toy a(graph_), b(graph_);
  a.Attach(&first);
  b.Attach(&second);
  first.Run(Pass::kForward, &a);
  EXPECT_NE(first.Find(kA), nullptr);
  b.RunIteration();
  EXPECT_EQ(first.Find(kA), nullptr);
  a.RunIteration();
  EXPECT_EQ(a.wrong(), std::vector<std::string>());
}

TEST_F(TransientTest, BelongsToOneBackend) {
  const std::unique_ptr<Backend> other = MakeCpuBackend();
  EXPECT_THROW(Executor(graph_, plan_, other.get(), Shared()), std::invalid_argument);
}

}  // namespace
}  // namespace layrub
