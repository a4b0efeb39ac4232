// Tensors are copied between host and device in pieces: what has to wait for what, what it costs,
// and random plans that do so, proved and run.
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/test/pieces.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/needed_waits.hpp"
#include "layrub/placement/test/plan_writer.hpp"
#include "layrub/placement/test/random_decision.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/replay.hpp"
#include "layrub/placement/test/slides.hpp"
#include "layrub/placement/test/small_plan.hpp"

namespace layrub::placement::schedule {
namespace {

using testing::ExpectRight;
using testing::GraphWriter;
using testing::InPieces;
using testing::Join;
using testing::PiecesIn;
using testing::PlanWriter;
using testing::RandomDecision;
using testing::RandomGraph;
using testing::Replay;
using testing::Steps;
using Lines = std::vector<std::string>;

constexpr int64_t kUnit = kAlignment;

/// x and y (four units of 256 bytes, y four bytes less) are made one after the other, read, and
/// read again.
class Pieces : public ::testing::Test {
 protected:
  Pieces() {
    GraphWriter net;
    const TensorId x = net.Add("x", 4 * kUnit, Role::kActivation);
    const TensorId y = net.Add("y", 4 * kUnit - 4, Role::kActivation);
    for (const auto& [name, reads, writes] :
         {std::tuple("make y", kNone, y), std::tuple("make x", kNone, x),
          std::tuple("read y", y, kNone), std::tuple("read x", x, kNone)}) {
      net.Add(name, Pass::kForward, OpKind::kCompute, Ids(reads), Ids(writes));
      net.graph.ops.back().name[4] = '_';
    }
    graph_ = net.graph;
  }

  static std::vector<TensorId> Ids(TensorId tensor) {
    return tensor == kNone ? std::vector<TensorId>{} : std::vector<TensorId>{tensor};
  }

  /// y leaves, x is made and leaves while y comes to its bytes, `shift` units further on, and x
  /// comes back to other bytes, or to `moves_to`.
  Plan Exchange(int64_t shift, int64_t moves_to = -1) const {
    PlanWriter p(graph_, 12 * kUnit, 8 * kUnit);
    p.Alloc("y", 8 * kUnit);
    p.Run("make_y");
    p.Alloc("y", 0, Tier::kHost);
    p.Offload("y");
    p.Free("y");
    p.Alloc("x", 0);
    p.Run("make_x");
    p.Alloc("x", 4 * kUnit, Tier::kHost);
    p.Offload("x");
    p.Free("x");
    p.Alloc("y", shift * kUnit);
    p.Prefetch("y");
    if (moves_to >= 0) p.Move("y", moves_to * kUnit);
    p.Run("read_y");
    p.Free("y");
    p.Alloc("x", 8 * kUnit);
    p.Prefetch("x");
    p.Run("read_x");
    p.Free("x");
    for (const char* tensor : {"x", "y"}) p.Free(tensor, Tier::kHost);
    p.EndPass(Pass::kForward);
    return p.plan;
  }

  /// The rest of each step that begins with `words`, and what it waits for.
  Lines WaitsOf(const Plan& plan, const std::string& words) const {
    const Lines steps = Steps(graph_, plan);
    Lines lines;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].rfind(words, 0) != 0) continue;
      lines.push_back(steps[i].substr(words.size()) + " after");
      for (const std::string& wait : testing::WaitsBefore(graph_, plan, i))
        lines.back() += " " + wait;
    }
    return lines;
  }

  Graph graph_;
};

TEST_F(Pieces, ThatComeWaitForThoseThatLeaveTheSameBytes) {
  const Plan plan = InPieces(graph_, Exchange(0), 2 * kUnit);
  EXPECT_EQ(WaitsOf(plan, "prefetch y "),
            (Lines{"0 512 after offload x 0 512", "512 508 after offload x 512 512"}));
  EXPECT_EQ(WaitsOf(plan, "compute read_y"), (Lines{" form=0 scratch=0 after prefetch y 512 508"}));
  ExpectRight(graph_, plan);
}

TEST_F(Pieces, ThatComeToBytesOfTwoWaitForTheLaterOne) {
  const Plan plan = InPieces(graph_, Exchange(1), 2 * kUnit);
  EXPECT_EQ(WaitsOf(plan, "prefetch y "),
            (Lines{"0 512 after offload x 512 512", "512 508 after"}));
  ExpectRight(graph_, plan);
}

TEST_F(Pieces, AreAllAwaitedByAMoveOfTheirTensor) {
  for (const int64_t to : {1, 4, 8}) {
    const Plan plan = InPieces(graph_, Exchange(0, to), kUnit);
    EXPECT_EQ(WaitsOf(plan, "move y"),
              (Lines{" " + std::to_string(to * kUnit) + " after prefetch y 768 252"}));
    ExpectRight(graph_, plan);
  }
}

TEST_F(Pieces, ThatLeaveAreAwaitedByAMoveToTheirBytes) {
  const auto moves_to = [&](int64_t unit) {
    PlanWriter p(graph_, 12 * kUnit, 4 * kUnit);
    p.Alloc("y", 8 * kUnit);
    p.Run("make_y");
    p.Alloc("x", 2 * kUnit);
    p.Run("make_x");
    p.Alloc("x", 0, Tier::kHost);
    p.Offload("x");
    p.Move("x", unit * kUnit);
    p.Run("read_y");
    p.Free("y");
    p.Run("read_x");
    p.Free("x");
    p.Free("x", Tier::kHost);
    p.EndPass(Pass::kForward);
    const Plan plan = InPieces(graph_, p.plan, 2 * kUnit);
    ExpectRight(graph_, plan);
    return WaitsOf(plan, "move x ");
  };
  EXPECT_EQ(moves_to(0), (Lines{"0 after offload x 0 512"})) << "the other piece is left alone";
  EXPECT_EQ(moves_to(1), (Lines{"256 after offload x 512 512"}));
  EXPECT_EQ(moves_to(3), (Lines{"768 after offload x 512 512"}));
}

TEST_F(Pieces, ThatLeaveAndThatComeGoOnSideBySide) {
  const Machine machine = testing::LinkMachine(1);
  const auto seconds = [&](int64_t piece_bytes) {
    return Simulate(graph_, InPieces(graph_, Exchange(0), piece_bytes), machine).seconds;
  };
  // Down, down, up and up again, four units each; in pieces, y comes one piece after x leaves.
  EXPECT_NEAR(seconds(4 * kUnit), 16, 0.1);
  EXPECT_NEAR(seconds(2 * kUnit), 14, 0.1);
  EXPECT_NEAR(seconds(kUnit), 13, 0.1);
}

TEST_F(Pieces, EachTakeALatency) {
  Machine machine = testing::LinkMachine(1);
  machine.latency = 10;
  const Plan plan = InPieces(graph_, Exchange(0), kUnit);
  const Timeline timeline = Simulate(graph_, plan, machine);
  int64_t bytes = 0;
  for (const Span& span : timeline.spans) {
    const int64_t copied = CopiedBytes(graph_, plan.steps[span.step]);
    if (copied == 0) continue;
    EXPECT_GE(span.end - span.begin, 10 + static_cast<double>(copied) / kUnit - 1e-6);
    bytes += copied;
  }
  EXPECT_EQ(bytes, 4 * (4 * kUnit) - 8);
}

TEST(PiecesOfADecision, CoverEachTensorThatIsLarger) {
  testing::HandMade net = testing::Chain();
  net.graph.tensors[1].bytes = 3 * kUnit + 1;
  Decision decision = DefaultDecision(net.graph);
  decision.tensors[1].gaps = {{1, 2, 5, 6}};
  decision.tensors[2].gaps = {{2, 3, 4, 5}};
  decision.piece_bytes = 2 * kUnit;
  const auto copies = [&] {
    const Plan plan = Schedule(net.graph, decision).value();
    EXPECT_EQ(Join(Check(net.graph, plan)), "");
    Lines lines = Steps(net.graph, plan);
    std::erase_if(lines, [](const std::string& line) {
      return line.find("load") == std::string::npos && line.find("fetch") == std::string::npos;
    });
    std::erase_if(lines, [](const std::string& line) { return line.rfind("wait", 0) == 0; });
    return lines;
  };
  EXPECT_EQ(copies(), (Lines{"offload x 0 512", "offload x 512 257", "offload a 0 512",
                             "offload a 512 512", "prefetch a 0 512", "prefetch a 512 512",
                             "prefetch x 0 512", "prefetch x 512 257"}));
  decision.piece_bytes = 4 * kUnit;
  EXPECT_EQ(copies(), (Lines{"offload x", "offload a", "prefetch a", "prefetch x"}));
  net.graph.tensors[1].bytes = net.graph.tensors[2].bytes = 0;
  decision.piece_bytes = kUnit;
  EXPECT_EQ(copies(), (Lines{"offload x", "offload a", "prefetch a", "prefetch x"}));
}

TEST(PiecesOfADecision, AreRefusedWhereTheyAreNotAligned) {
  const testing::HandMade net = testing::Chain();
  Decision decision = DefaultDecision(net.graph);
  for (const int64_t bytes : {int64_t{-256}, int64_t{1}, int64_t{1000}}) {
    decision.piece_bytes = bytes;
    const Status status = Schedule(net.graph, decision).status();
    EXPECT_EQ(status.code, Code::kInvalid);
    EXPECT_EQ(status.message, "tensors cannot be copied in pieces of " + std::to_string(bytes) +
                                  " bytes: a multiple of 256 is needed");
  }
}

/// Decisions of random graphs, their copies in pieces, and, with `slides`, Moves between.
void ExpectRandomPlansToBeRight(bool slides) {
  int64_t pieces = 0, moves = 0, parts = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = RandomGraph(seed, static_cast<int>(seed % 40));
    Decision decision = RandomDecision(graph, seed, /*reckless=*/false);
    decision.piece_bytes = static_cast<int64_t>(1 + seed % 6) * kUnit;
    Plan plan = Schedule(graph, decision).value();
    if (slides) plan = testing::WithSlides(graph, plan, seed);
    ASSERT_EQ(Join(Check(graph, plan)), "") << "seed " << seed;
    for (uint64_t order = 0; order < 5; ++order)
      ASSERT_EQ(Replay(graph, plan, order), "") << "seed " << seed;
    const Result<Plan> read = PlanFromText(ToText(plan, graph), graph);
    ASSERT_TRUE(read.ok()) << read.status().message;
    ASSERT_EQ(read.value(), plan);
    pieces += PiecesIn(plan);
    moves += testing::MovesIn(plan);
    parts += testing::PartsMovedIn(plan);
  }
  EXPECT_GT(pieces, 1000);
  EXPECT_EQ(moves > 1000, slides);
  EXPECT_EQ(parts > 100, slides);
}

TEST(RandomPieces, AreProvedAndGiveTheRightValuesInWhateverOrderTheLanesRun) {
  ExpectRandomPlansToBeRight(/*slides=*/false);
}

TEST(RandomPieces, AndTensorsThatSlideAreProvedAndGiveTheRightValues) {
  ExpectRandomPlansToBeRight(/*slides=*/true);
}

TEST(RandomPieces, DoNotChangeWhatLivesOrHowManyBytesAreCopied) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = RandomGraph(seed, static_cast<int>(seed % 40));
    Decision decision = RandomDecision(graph, seed, /*reckless=*/false);
    decision.piece_bytes = 0;
    const Plan whole = Schedule(graph, decision).value();
    decision.piece_bytes = kUnit;
    const Plan pieces = Schedule(graph, decision).value();
    EXPECT_EQ(FindPeak(graph, pieces).bytes, FindPeak(graph, whole).bytes);
    const auto copied = [&graph](const Plan& plan) {
      int64_t bytes = 0;
      for (const Step& step : plan.steps) bytes += CopiedBytes(graph, step);
      return bytes;
    };
    EXPECT_EQ(copied(pieces), copied(whole));
  }
}

}  // namespace
}  // namespace layrub::placement::schedule
