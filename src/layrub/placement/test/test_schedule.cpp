#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement {
namespace {

using testing::Chain;
using testing::HandMade;
using testing::Names;
using testing::Steps;
using testing::Uses;
using Lines = std::vector<std::string>;

Plan MustSchedule(const Graph& graph, const Program& program, int64_t padding = 0) {
  const Result<Plan> plan = schedule::Schedule(graph, program, {.padding = padding});
  EXPECT_TRUE(plan.ok()) << plan.status().message;
  if (!plan.ok()) return {};
  const std::vector<std::string> objections = Check(graph, plan.value());
  EXPECT_TRUE(objections.empty()) << objections.front();
  return plan.value();
}

std::string Refusal(const Graph& graph, const Program& program) {
  const Status status = schedule::Schedule(graph, program).status();
  EXPECT_EQ(status.code, Code::kInvalid);
  return status.message;
}

/// conv -> (in place) bn -> (in place) relu on one blob, then a loss; relu's backward reads its
/// output or a mask.
///   tensors: 0 x, 1 y, 2 y@1, 3 y@2, 4 mask, 5 loss, 6 y@2.grad
HandMade InPlaceChain() {
  HandMade net;
  const TensorId x = net.Add("x", 4);
  const TensorId y = net.AddVersion("y", 4, 0);
  const TensorId y1 = net.AddVersion("y@1", 4, 0);
  const TensorId y2 = net.AddVersion("y@2", 4, 0);
  const TensorId mask = net.Add("mask", 1, Role::kSaved);
  const TensorId loss = net.Add("loss", 1);
  const TensorId dy = net.Add("y@2.grad", 4, Role::kActivationGradient);
  net.Forward("data/forward", Uses({}, {x}));
  net.Forward("conv/forward", Uses({x}, {y}));
  net.Forward("bn/forward", Uses({y}, {y1}, {{y1, y}}));
  net.Forward("relu/forward", Uses({y1}, {y2, mask}, {{y2, y1}}));
  net.Forward("loss/forward", Uses({y2}, {loss}));
  net.Backward("loss/backward", Uses({y2, loss}, {dy}));
  net.Run("relu/backward", Pass::kBackward,
          {Uses({y2, dy}, {}), Uses({mask, dy}, {}), Uses({y1, dy}, {})});
  return net;
}

TEST(Schedule, AllocatesAtTheFirstUseAndFreesAfterTheLast) {
  const HandMade net = Chain();
  const Plan plan = MustSchedule(net.graph, DefaultProgram(net.graph));
  EXPECT_EQ(Steps(net.graph, plan),
            (Lines{"alloc device x 256", "run data/forward variant=0 algorithm=0",
                   "alloc device a 1280", "run a/forward variant=0 algorithm=0",
                   "alloc device b 2304", "run b/forward variant=0 algorithm=0",
                   "alloc device c 3328", "run c/forward variant=0 algorithm=0",
                   "alloc device b.grad 4352", "run c/backward variant=0 algorithm=0",
                   "free device b", "free device c", "alloc device a.grad 2304",
                   "run b/backward variant=0 algorithm=0", "free device a", "free device b.grad",
                   "run a/backward variant=0 algorithm=0", "free device x", "free device a.grad"}));
  EXPECT_EQ(plan.pass_end, (std::array<int32_t, 3>{8, 19, 19}));
  EXPECT_EQ(plan.device_bytes, 21 * kAlignment);
  EXPECT_EQ(plan.host_bytes, 0);
  EXPECT_TRUE(plan.readable.empty());
}

TEST(Schedule, OffloadsATensorBetweenTwoUses) {
  const HandMade net = Chain();
  Program program = DefaultProgram(net.graph);
  program.tensors[1].evictions = {{1, 2, 5, 6}};
  const Plan plan = MustSchedule(net.graph, program);
  EXPECT_EQ(Steps(net.graph, plan), (Lines{"alloc device x 256",
                                           "run data/forward variant=0 algorithm=0",
                                           "alloc device a 1280",
                                           "run a/forward variant=0 algorithm=0",
                                           "alloc host x 0",
                                           "wait save for 1",
                                           "copy device host x",
                                           "alloc device b 2304",
                                           "run b/forward variant=0 algorithm=0",
                                           "free device x",
                                           "alloc device c 256",
                                           "wait compute for 6",
                                           "run c/forward variant=0 algorithm=0",
                                           "alloc device b.grad 3328",
                                           "run c/backward variant=0 algorithm=0",
                                           "free device b",
                                           "free device c",
                                           "alloc device x 256",
                                           "wait load for 14",
                                           "copy host device x",
                                           "alloc device a.grad 2304",
                                           "run b/backward variant=0 algorithm=0",
                                           "free device a",
                                           "free device b.grad",
                                           "free host x",
                                           "wait compute for 19",
                                           "run a/backward variant=0 algorithm=0",
                                           "free device x",
                                           "free device a.grad"}));
  EXPECT_EQ(plan.pass_end, (std::array<int32_t, 3>{13, 29, 29}));
  EXPECT_EQ(plan.host_bytes, 4 * kAlignment);
  EXPECT_EQ(plan.steps[6].lane, Lane::kSave);
  EXPECT_EQ(plan.steps[19].lane, Lane::kLoad);
}

TEST(Schedule, PrefetchesInOrderOfUse) {
  HandMade net;
  const TensorId a = net.Add("a", 1), b = net.Add("b", 1), c = net.Add("c", 1);
  net.Forward("ab", Uses({}, {a, b}));
  net.Forward("c", Uses({}, {c}));
  net.Backward("b/backward", Uses({b}, {}));
  net.Backward("a/backward", Uses({a}, {}));
  Program program = DefaultProgram(net.graph);
  program.tensors[a].evictions = {{0, 0, 2, 3, false}};
  program.tensors[b].evictions = {{0, 0, 2, 2, false}};
  const Lines steps = Steps(net.graph, MustSchedule(net.graph, program));
  const auto place = [&](const char* step) { return std::find(steps.begin(), steps.end(), step); };
  ASSERT_NE(place("copy host device a"), steps.end());
  EXPECT_LT(place("copy host device b"), place("copy host device a"));
}

TEST(Schedule, CopiesAValueToTheHostOnce) {
  const HandMade net = Chain();
  Program program = DefaultProgram(net.graph);
  program.tensors[3].evictions = {{2, 2, 3, 3}, {3, 3, 4, 4}};
  const Lines steps = Steps(net.graph, MustSchedule(net.graph, program));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "copy device host b"), 1);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "copy host device b"), 2);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "alloc host b 0"), 1);
}

TEST(Schedule, CopiesAgainWhatWasUpdatedInPlace) {
  HandMade net;
  const TensorId sum = net.Add("sum", 4);
  net.Forward("one/forward", Uses({}, {sum}));
  net.Forward("two/forward", Uses({sum}, {sum}));
  net.Forward("three/forward", Uses({sum}, {}));
  Program program = DefaultProgram(net.graph);
  program.tensors[sum].evictions = {{0, 0, 1, 1}, {1, 1, 2, 2}};
  const Lines steps = Steps(net.graph, MustSchedule(net.graph, program));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "copy device host sum"), 2);
  // The second copy goes to the same host range: it waits for the operation that changed the value.
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "alloc host sum 0"), 1);
}

TEST(Schedule, PutsAnOutputOnItsInputAndFreesTheInputAtOnce) {
  const HandMade net = Chain();
  Program program = DefaultProgram(net.graph);
  program.runs[4].aliases = {{5, 4}};
  program.runs[5].aliases = {{6, 5}};
  const Plan plan = MustSchedule(net.graph, program);
  const Lines steps = Steps(net.graph, plan);
  EXPECT_EQ(Lines(steps.begin() + 8, steps.end()),
            (Lines{"alias b.grad on c", "run c/backward variant=0 algorithm=0", "free device b",
                   "free device c", "alias a.grad on b.grad",
                   "run b/backward variant=0 algorithm=0", "free device a", "free device b.grad",
                   "run a/backward variant=0 algorithm=0", "free device x", "free device a.grad"}));
  EXPECT_EQ(plan.device_bytes, 17 * kAlignment);
}

/// Puts the versions of each blob on one range for the whole iteration.
void Fuse(const Graph& graph, Program* program) {
  const UseLists uses = FindUses(graph, program->runs);
  for (const std::vector<TensorId>& chain : BlobVersions(graph, uses)) {
    for (TensorId version : chain) program->tensors[version].whole = true;
    for (size_t i = 1; i < chain.size(); ++i) {
      program->runs[uses[chain[i]].front().run].aliases.push_back({chain[i], chain[i - 1]});
    }
  }
}

TEST(Schedule, PutsWholeVersionsOfABlobOnOneRange) {
  const HandMade net = InPlaceChain();
  Program program = DefaultProgram(net.graph);
  Fuse(net.graph, &program);
  const Plan plan = MustSchedule(net.graph, program);
  EXPECT_EQ(
      Steps(net.graph, plan),
      (Lines{"alloc device y 0", "alloc device x 1024", "run data/forward variant=0 algorithm=0",
             "run conv/forward variant=0 algorithm=0", "free device x", "alias y@1 on y",
             "run bn/forward variant=0 algorithm=0", "free device y", "alias y@2 on y@1",
             "run relu/forward variant=0 algorithm=0", "free device y@1", "alloc device loss 1024",
             "run loss/forward variant=0 algorithm=0", "alloc device y@2.grad 1280",
             "run loss/backward variant=0 algorithm=0", "free device loss",
             "run relu/backward variant=0 algorithm=0", "free device y@2.grad"}));
  EXPECT_EQ(Names(net.graph, plan.readable), (Lines{"y@2"}));
}

TEST(Schedule, GivesBytesToASavedTensorOnlyIfAChosenVariantReadsIt) {
  const HandMade net = InPlaceChain();
  Program program = DefaultProgram(net.graph);
  Lines steps = Steps(net.graph, MustSchedule(net.graph, program));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "free device mask"), 0);
  program.runs[6].variant = 1;
  steps = Steps(net.graph, MustSchedule(net.graph, program));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "free device mask"), 1);
}

TEST(Schedule, RefusesToOverwriteAVersionThatIsReadLater) {
  const HandMade net = InPlaceChain();
  Program program = DefaultProgram(net.graph);
  Fuse(net.graph, &program);
  program.runs[6].variant = 2;
  EXPECT_NE(Refusal(net.graph, program).find("operation relu/forward: y@2 cannot lie on y@1"),
            std::string::npos);
}

TEST(Schedule, RefusesAnAliasThatTheOperationDoesNotAllow) {
  HandMade net = InPlaceChain();
  net.graph.ops[2].variants[0].may_alias.clear();
  Program program = DefaultProgram(net.graph);
  Fuse(net.graph, &program);
  EXPECT_NE(Refusal(net.graph, program).find("operation bn/forward: y@1 cannot lie on y"),
            std::string::npos);
}

TEST(Schedule, AllocatesWholeTensorsFirstAndLeavesThemReadable) {
  const HandMade net = Chain();
  Program program = DefaultProgram(net.graph);
  program.tensors[6].whole = true;
  program.tensors[2].whole = true;
  const Plan plan = MustSchedule(net.graph, program);
  const Lines steps = Steps(net.graph, plan);
  EXPECT_EQ(Lines(steps.begin(), steps.begin() + 2),
            (Lines{"alloc device a 256", "alloc device a.grad 1280"}));
  EXPECT_EQ(Names(net.graph, plan.readable), (Lines{"a", "a.grad"}));
}

TEST(Schedule, LeavesAKeptTensorOnTheDeviceOrInTheHostTier) {
  HandMade net = Chain();
  net.graph.tensors[1].keep = true;
  Program program = DefaultProgram(net.graph);
  Plan plan = MustSchedule(net.graph, program);
  EXPECT_EQ(Names(net.graph, plan.readable), (Lines{"x"}));
  EXPECT_EQ(plan.host_bytes, 0);

  program.tensors[1].evictions = {{1, 2, 5, 6}};
  plan = MustSchedule(net.graph, program);
  const Lines steps = Steps(net.graph, plan);
  EXPECT_EQ(Names(net.graph, plan.readable), (Lines{"x"}));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "free host x"), 0);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "free device x"), 2);
}

TEST(Schedule, AWorkspaceLivesDuringItsOperationOnly) {
  HandMade net = Chain();
  const TensorId work = net.Add("work", 2, Role::kWorkspace);
  const TensorId more = net.Add("more", 9, Role::kWorkspace);
  net.graph.ops[2].variants[0].algorithms = {{work, 0, true}, {more, 0, true}};
  Program program = DefaultProgram(net.graph);
  program.runs[2].algorithm = 1;
  const Lines steps = Steps(net.graph, MustSchedule(net.graph, program));
  const auto begin = std::find(steps.begin(), steps.end(), "alloc device more 3328");
  ASSERT_NE(begin, steps.end());
  EXPECT_EQ(Lines(begin + 1, begin + 3),
            (Lines{"run b/forward variant=0 algorithm=1", "free device more"}));
}

TEST(Schedule, RunsAFillForADiffThatNobodyWrites) {
  HandMade net;
  const TensorId x = net.Add("x", 1);
  const TensorId dx = net.Add("x.grad", 1, Role::kActivationGradient);
  net.Forward("data/forward", Uses({}, {x}));
  net.Run("x.grad/fill", Pass::kBackward, {Uses({}, {dx})}, OpKind::kFill);
  net.Backward("split/backward", Uses({dx}, {}));
  const Plan plan = MustSchedule(net.graph, DefaultProgram(net.graph));
  EXPECT_EQ(Steps(net.graph, plan),
            (Lines{"alloc device x 0", "run data/forward variant=0 algorithm=0", "free device x",
                   "alloc device x.grad 0", "run x.grad/fill variant=0 algorithm=0",
                   "run split/backward variant=0 algorithm=0", "free device x.grad"}));
}

TEST(Schedule, LeavesSharedWeightsAloneAndEndsWithTheUpdate) {
  HandMade net;
  const TensorId w = net.Add("w", 2, Role::kParameter);
  const TensorId dw = net.Add("w.grad", 2, Role::kParameterGradient);
  const TensorId h = net.Add("w.history", 2, Role::kHistory);
  const TensorId x = net.Add("x", 1);
  const TensorId y = net.Add("y", 1);
  const TensorId dx = net.Add("x.grad", 1, Role::kActivationGradient);
  net.Forward("first/forward", Uses({w}, {x}));
  net.Forward("second/forward", Uses({x, w}, {y}));
  net.Backward("second/backward", Uses({x, y, w, dw}, {dw, dx}));
  net.Backward("first/backward", Uses({dx, dw}, {dw}));
  net.Run("w/update", Pass::kUpdate, {Uses({w, dw, h}, {w, h})}, OpKind::kUpdate);
  const Plan plan = MustSchedule(net.graph, DefaultProgram(net.graph));
  const Lines steps = Steps(net.graph, plan);
  const Tier device = Tier::kDevice;
  EXPECT_EQ(plan.homes, (std::vector<Home>{{w, device, 0}, {dw, device, 512}, {h, device, 1024}}));
  EXPECT_EQ(steps.back(), "run w/update variant=0 algorithm=0");
  EXPECT_EQ(plan.pass_end[2] - plan.pass_end[1], 1);
  EXPECT_EQ(std::count_if(plan.steps.begin(), plan.steps.end(),
                          [](const Step& step) { return step.kind == StepKind::kWait; }),
            0);
}

TEST(Schedule, KeepsAForkedTensorUntilItsLastReader) {
  HandMade net;
  const TensorId x = net.Add("x", 1);
  const TensorId left = net.Add("left", 1);
  const TensorId right = net.Add("right", 1);
  const TensorId sum = net.Add("sum", 1);
  net.Forward("data/forward", Uses({}, {x}));
  net.Forward("left/forward", Uses({x}, {left}, {{left, x}}));
  net.Forward("right/forward", Uses({x}, {right}, {{right, x}}));
  net.Forward("sum/forward", Uses({left, right}, {sum}, {{sum, left}, {sum, right}}));
  Program program = DefaultProgram(net.graph);
  program.runs[1].aliases = {{left, x}};
  EXPECT_NE(Refusal(net.graph, program).find("left/forward: left cannot lie on x"),
            std::string::npos);
  program.runs[1].aliases.clear();
  program.runs[2].aliases = {{right, x}};
  program.runs[3].aliases = {{sum, right}};
  EXPECT_EQ(MustSchedule(net.graph, program).device_bytes, 2 * kAlignment);
}

TEST(Schedule, LetsAnOutputOverwriteAnInputThatCanBeFetchedAgain) {
  HandMade net = Chain();
  // b is kept; it has a copy in the host tier when c/backward writes b.grad over it.
  net.graph.tensors[3].keep = true;
  Program program = DefaultProgram(net.graph);
  program.tensors[3].evictions = {{2, 2, 3, 3}};
  program.runs[4].aliases = {{5, 3}};
  EXPECT_EQ(Names(net.graph, MustSchedule(net.graph, program).readable), (Lines{"b"}));
}

TEST(Schedule, LeavesPaddingBetweenRanges) {
  const HandMade net = Chain();
  Program program = DefaultProgram(net.graph);
  program.tensors[1].evictions = {{1, 2, 5, 6}};
  const Plan plan = MustSchedule(net.graph, program, 100);
  EXPECT_EQ(plan.host_bytes, 5 * kAlignment);
  EXPECT_EQ(plan.homes[0].offset, 0);
  EXPECT_EQ(plan.steps[0].offset, 2 * kAlignment);
}

TEST(Schedule, HandlesEmptyTensorsAndEmptyGraphs) {
  HandMade net = Chain();
  for (Tensor& tensor : net.graph.tensors) tensor.bytes = 0;
  EXPECT_EQ(MustSchedule(net.graph, DefaultProgram(net.graph)).device_bytes, 0);
  EXPECT_TRUE(MustSchedule(Graph{}, Program{}).steps.empty());
}

TEST(Schedule, PlansFiftyThousandOperationsInSeconds) {
  HandMade net;
  const int layers = 25000;
  for (int i = 0; i <= layers; ++i) net.Add("y" + std::to_string(i), 1 + i % 7);
  for (int i = 0; i <= layers; ++i) net.Add("dy" + std::to_string(i), 4);
  net.Forward("data", Uses({}, {0}));
  for (int i = 1; i <= layers; ++i) net.Forward("f" + std::to_string(i), Uses({i - 1}, {i}));
  net.Backward("loss", Uses({layers}, {2 * layers + 1}));
  for (int i = layers; i > 0; --i) {
    const TensorId dy = layers + 1 + i;
    net.Backward("b" + std::to_string(i), Uses({i - 1, i, dy}, {dy - 1}, {{dy - 1, dy}}));
  }
  const std::clock_t start = std::clock();
  for (const std::string& strategy : StrategyNames()) {
    ASSERT_TRUE(MakePlan(net.graph, {}, {}, strategy).ok());
  }
  EXPECT_LT(std::clock() - start,
            20 * CLOCKS_PER_SEC);  // processor seconds; measured: below 1 each
}

}  // namespace
}  // namespace layrub::placement
