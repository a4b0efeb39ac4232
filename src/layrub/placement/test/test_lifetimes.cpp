#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement::schedule {
namespace {

using testing::Chain;
using testing::HandMade;
using testing::Uses;

std::string Refusal(const Graph& graph, const Program& program) {
  const Status status = Schedule(graph, program).status();
  EXPECT_EQ(status.code, Code::kInvalid);
  return status.message;
}

TEST(Lifetimes, NamesWhatIsImpossible) {
  const HandMade net = Chain();
  struct Case {
    std::function<void(Program*)> spoil;
    std::string message;
  };
  const std::vector<Case> cases{
      {[](Program* d) { d->runs.pop_back(); }, "the program is for another graph"},
      {[](Program* d) { d->tensors.pop_back(); }, "the program is for another graph"},
      {[](Program* d) { d->runs[1].variant = 1; }, "a/forward: it has no variant 1"},
      {[](Program* d) { d->runs[1].algorithm = 1; }, "a/forward: it has no algorithm 1"},
      {[](Program* d) {
         d->tensors[0].evictions = {{1, 1, 3, 4}};
       },
       "tensor w: it stays where it is"},
      {[](Program* d) {
         d->tensors[1].evictions = {{0, 1, 5, 6}};
       },
       "tensor x: an eviction does not lie"},
      {[](Program* d) {
         d->tensors[1].evictions = {{1, 2, 3, 5}};
       },
       "tensor x: an eviction does not lie"},
      {[](Program* d) {
         d->tensors[1].evictions = {{6, 6, 7, 7}};
       },
       "tensor x: an eviction does not lie"},
      {[](Program* d) {
         d->tensors[1].evictions = {{1, 0, 5, 6}};
       },
       "after a/forward is not in the"},
      {[](Program* d) {
         d->tensors[1].evictions = {{1, 5, 5, 6}};
       },
       "after a/forward is not in the"},
      {[](Program* d) {
         d->tensors[1].evictions = {{1, 2, 7, 6}};
       },
       "after a/forward is not in the"},
      {[](Program* d) {
         d->runs[4].aliases = {{5, 2}};
       },
       "variant '' does not allow it"},
      {[](Program* d) {
         d->runs[4].aliases = {{5, 3}, {5, 4}};
       },
       "already lies on another"},
      {[](Program* d) {
         d->runs[4].aliases = {{5, 3}};
         d->tensors[3].whole = true;
       },
       "one of them is resident for the whole iteration"},
  };
  for (const Case& bad : cases) {
    Program program = DefaultProgram(net.graph);
    bad.spoil(&program);
    const std::string message = Refusal(net.graph, program);
    EXPECT_NE(message.find(bad.message), std::string::npos)
        << "expected " << bad.message << ", got " << message;
  }
}

TEST(Lifetimes, RefusesAnAliasThatIsTooLargeOrLosesAValue) {
  HandMade net = Chain();
  net.graph.tensors[5].bytes += 1;
  Program program = DefaultProgram(net.graph);
  program.runs[4].aliases = {{5, 4}};
  EXPECT_NE(Refusal(net.graph, program).find("the output is larger"), std::string::npos);

  net = Chain();
  net.graph.tensors[4].keep = true;
  EXPECT_NE(Refusal(net.graph, program).find("the input's value is still needed"),
            std::string::npos);
}

/// Chain, where 2 of the 4 units of x stay on the device between its uses.
Program PartOfX(const Graph& graph) {
  Program program = DefaultProgram(graph);
  program.tensors[1].evictions = {{1, 2, 5, 6, false, 2 * kAlignment}};
  return program;
}

std::vector<LiveInterval> IntervalsOf(const Lifetimes& lives, TensorId t) {
  std::vector<LiveInterval> intervals;
  for (const LiveInterval& interval : lives.intervals) {
    if (interval.tensor == t) intervals.push_back(interval);
  }
  return intervals;
}

TEST(Lifetimes, GivesAPartAnIntervalAndABlockOfItsOwn) {
  const HandMade net = Chain();
  const Lifetimes lives = FindLifetimes(net.graph, PartOfX(net.graph)).value();
  EXPECT_EQ(IntervalsOf(lives, 1),
            (std::vector<LiveInterval>{{1, 0, 2, kNone, kNone, 4 * kAlignment, 1},
                                       {1, 3, 4, kNone, kNone, 2 * kAlignment, 2},
                                       {1, 5, 6, 6, kNone, 4 * kAlignment, 3}}));
  EXPECT_EQ(lives.blocks, 9);
}

TEST(Lifetimes, GivesTheHostAllBytesThatAnyEvictionOffloads) {
  HandMade net;
  const TensorId x = net.Add("x", 4);
  net.Forward("make", Uses({}, {x}));
  for (const char* name : {"first", "second", "third"}) net.Forward(name, Uses({x}, {}));
  struct Case {
    int64_t first, second, from;
  };
  for (const Case& one : {Case{3, 2, 2}, Case{1, 2, 1}, Case{2, 0, 0}, Case{0, 2, 0}}) {
    Program program = DefaultProgram(net.graph);
    program.tensors[x].evictions = {{0, 0, 1, 1, false, one.first * kAlignment},
                                    {2, 2, 3, 3, false, one.second * kAlignment}};
    const Lifetimes lives = FindLifetimes(net.graph, program).value();
    ASSERT_EQ(lives.host.size(), 1u);
    EXPECT_EQ(lives.host[0], (HostInterval{x, {0}, 3, one.from * kAlignment}));
  }
}

TEST(Lifetimes, GivesAPartTheTimeOfItsEviction) {
  const HandMade net = Chain();
  Program program = PartOfX(net.graph);
  program.tensors[1].evictions[0].release = 1;
  program.tensors[1].evictions[0].prefetch = 4;
  const Lifetimes lives = FindLifetimes(net.graph, program).value();
  EXPECT_EQ(IntervalsOf(lives, 1),
            (std::vector<LiveInterval>{{1, 0, 1, kNone, kNone, 4 * kAlignment, 1},
                                       {1, 2, 3, kNone, kNone, 2 * kAlignment, 2},
                                       {1, 4, 6, 6, kNone, 4 * kAlignment, 3}}));
}

TEST(Lifetimes, RefusesPartsThatCannotStay) {
  const std::string refusal = "bytes cannot stay in the eviction after";
  HandMade net = Chain();
  for (const int64_t bytes : {kAlignment + 1, 4 * kAlignment, 8 * kAlignment, -kAlignment}) {
    Program program = PartOfX(net.graph);
    program.tensors[1].evictions[0].stays = bytes;
    EXPECT_NE(
        Refusal(net.graph, program)
            .find("tensor x: its first " + std::to_string(bytes) + " " + refusal + " a/forward"),
        std::string::npos);
  }
  net.graph.tensors[1].bytes = 2 * kAlignment;
  EXPECT_NE(Refusal(net.graph, PartOfX(net.graph)).find(refusal), std::string::npos);
  net.graph.tensors[1].bytes += 1;
  EXPECT_TRUE(Schedule(net.graph, PartOfX(net.graph)).ok());
  net.graph.tensors[1].keep = true;
  EXPECT_NE(Refusal(net.graph, PartOfX(net.graph)).find(refusal), std::string::npos);
}

TEST(Lifetimes, LetsOnlyKeptTensorsEndInTheHostTier) {
  HandMade net = Chain();
  Program program = DefaultProgram(net.graph);
  program.tensors[1].evictions = {
      ToTheEnd(FindUses(net.graph, program.runs)[1].back(), program.runs)};
  const std::string refusal = "tensor x: an eviction does not lie between two uses";
  EXPECT_NE(Refusal(net.graph, program).find(refusal), std::string::npos);
  net.graph.tensors[1].keep = true;
  const Plan plan = Schedule(net.graph, program).value();
  EXPECT_EQ(Check(net.graph, plan), std::vector<std::string>());
  EXPECT_EQ(plan.host_bytes, Aligned(net.graph.tensors[1].bytes));
  program.tensors[1].whole = true;
  EXPECT_NE(Refusal(net.graph, program).find("it stays where it is"), std::string::npos);
}

TEST(Lifetimes, RefusesStateThatDoesNotBeginOrEndInItsHome) {
  HandMade net = Chain();
  constexpr TensorId w = 0;
  const Program resident = DefaultProgram(net.graph);
  const std::vector<Use> uses = [&] {
    const UseLists lists = FindUses(net.graph, resident.runs);
    return std::vector<Use>(lists[w].begin(), lists[w].end());
  }();
  Program program = resident;
  program.tensors[w].home = StateHome::kAway;
  program.tensors[w].evictions = {FromTheStart(uses.front()), ToTheEnd(uses.back(), program.runs)};
  const Plan plan = Schedule(net.graph, program).value();
  EXPECT_EQ(Check(net.graph, plan), std::vector<std::string>());
  EXPECT_EQ(plan.homes, (std::vector<Home>{{w, Tier::kHost, 0}}));
  const auto refused = [&](const ShortList<Eviction>& evictions, StateHome home,
                           const std::string& why) {
    Program wrong = program;
    wrong.tensors[w].evictions = evictions;
    wrong.tensors[w].home = home;
    EXPECT_NE(Refusal(net.graph, wrong).find("tensor w: " + why), std::string::npos)
        << Refusal(net.graph, wrong);
  };
  const std::string both_ends = "its home is off the device, so it has to begin and to end there";
  refused({}, StateHome::kAway, both_ends);
  refused({FromTheStart(uses.front())}, StateHome::kAway, both_ends);
  refused({ToTheEnd(uses.back(), program.runs)}, StateHome::kAway, both_ends);
  refused(program.tensors[w].evictions, StateHome::kDevice,
          "it stays where it is, so it cannot have an eviction");
  refused({}, StateHome::kInPlace, "operations cannot use it in host memory");
  Eviction dropped = FromTheStart(uses.front());
  dropped.dropped = true;
  refused({dropped, ToTheEnd(uses.back(), program.runs)}, StateHome::kAway,
          "a/forward needs its value, which was dropped");
  Program other = resident;
  other.tensors[1].home = StateHome::kAway;
  EXPECT_NE(Refusal(net.graph, other).find("tensor x: its home has to be on the device"),
            std::string::npos);
}

TEST(Lifetimes, RefusesAPartOfADroppedTensor) {
  HandMade net = Chain();
  net.graph.ops[1].repeatable = true;
  Program program = DefaultProgram(net.graph);
  placement::Run again = program.runs[1];
  again.recompute = true;
  program.runs.insert(program.runs.begin() + 5, again);
  program.tensors[2].evictions = {{2, 2, 5, 5, true}};
  EXPECT_TRUE(Schedule(net.graph, program).ok());
  program.tensors[2].evictions[0].stays = kAlignment;
  EXPECT_NE(Refusal(net.graph, program)
                .find("tensor a: its first 256 bytes cannot stay in the eviction after b/forward"),
            std::string::npos);
}

TEST(Lifetimes, RefusesAnOutputOnAnInputOfWhichAPartStays) {
  HandMade net;
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4);
  net.Forward("first", Uses({}, {x}));
  net.Forward("second", Uses({x}, {}));
  net.Forward("third", Uses({x}, {y}, {{y, x}}));
  net.Forward("fourth", Uses({x, y}, {}));
  Program program = DefaultProgram(net.graph);
  program.tensors[x].evictions = {{0, 0, 1, 1},
                                  {2, 2, 3, 3}};  // the second comes back from the same copy
  program.runs[2].aliases = {{y, x}};
  EXPECT_TRUE(Schedule(net.graph, program).ok());
  program.tensors[x].evictions[0].stays = kAlignment;
  EXPECT_TRUE(Schedule(net.graph, program).ok());
  program.tensors[x].evictions[1].stays = kAlignment;
  EXPECT_NE(Refusal(net.graph, program)
                .find("operation third: y cannot lie on x: a part of the input stays"),
            std::string::npos);
}

}  // namespace
}  // namespace layrub::placement::schedule
