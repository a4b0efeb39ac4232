#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/occupancy.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/strategies/strategies.hpp"
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

Plan MustPlan(const Graph& graph, const std::string& strategy) {
  const Result<Plan> plan = MakePlan(graph, {}, {}, strategy);
  EXPECT_TRUE(plan.ok()) << plan.status().message;
  if (!plan.ok()) return {};
  const std::vector<std::string> objections = Check(graph, plan.value());
  EXPECT_TRUE(objections.empty()) << objections.front();
  EXPECT_GE(plan.value().device_bytes, FloorBytes(graph));
  return plan.value();
}

Program Decide(const Graph& graph, const std::string& strategy) {
  const Result<schedule::Choice> choice = strategies::FindStrategy(strategy).value()(graph, {}, {});
  EXPECT_TRUE(choice.ok()) << choice.status().message;
  return choice.value().program;
}

int Count(const Plan& plan, bool (*is)(const Step&)) {
  return static_cast<int>(std::count_if(plan.steps.begin(), plan.steps.end(), is));
}
int Count(const Plan& plan, StepKind kind) {
  return static_cast<int>(std::count_if(plan.steps.begin(), plan.steps.end(),
                                        [kind](const Step& step) { return step.kind == kind; }));
}

/// Two blocks of conv, in-place relu, all versions of 8 units; a mask has 2. The gradients of a
/// blob are versions too.
///   tensors of block k: y, y@1, y:mask, y.grad, y@1.grad; operations: forward 0..5, backward 6..10
HandMade InPlaceNet() {
  HandMade net;
  const TensorId x = net.Add("x", 8);
  std::vector<TensorId> y, y1, mask, dy, dy1;
  for (int k = 0; k < 2; ++k) {
    const std::string name = "y" + std::to_string(k);
    y.push_back(net.AddVersion(name, 8, 2 * k));
    y1.push_back(net.AddVersion(name + "@1", 8, 2 * k));
    mask.push_back(net.Add(name + ":mask", 2, Role::kSaved));
    dy.push_back(net.AddVersion(name + ".grad", 8, 2 * k + 1, Role::kActivationGradient));
    dy1.push_back(net.AddVersion(name + "@1.grad", 8, 2 * k + 1, Role::kActivationGradient));
  }
  const TensorId loss = net.Add("loss", 1);
  net.graph.tensors[loss].keep = true;
  net.Forward("data/forward", Uses({}, {x}));
  for (int k = 0; k < 2; ++k) {
    const std::string n = std::to_string(k);
    net.Forward("conv" + n + "/forward", Uses({k == 0 ? x : y1[0]}, {y[k]}));
    net.Forward("relu" + n + "/forward", Uses({y[k]}, {y1[k], mask[k]}, {{y1[k], y[k]}}));
  }
  net.Forward("loss/forward", Uses({y1[1]}, {loss}));
  net.Backward("loss/backward", Uses({y1[1], loss}, {dy1[1]}));
  for (int k = 1; k >= 0; --k) {
    const std::string n = std::to_string(k);
    net.Run("relu" + n + "/backward", Pass::kBackward,
            {Uses({y1[k], dy1[k]}, {dy[k]}, {{dy[k], dy1[k]}, {dy[k], y1[k]}}),
             Uses({mask[k], dy1[k]}, {dy[k]}, {{dy[k], dy1[k]}})});
    const std::vector<TensorId> writes = k == 0 ? std::vector<TensorId>{} : std::vector{dy1[0]};
    net.Backward("conv" + n + "/backward", Uses({k == 0 ? x : y1[0], dy[k]}, writes));
  }
  return net;
}

TEST(FindStrategy, ListsTheNamesForAnUnknownOne) {
  EXPECT_EQ(StrategyNames(), (Lines{"keep", "liveness", "intra", "inter", "hybrid", "sqrt",
                                    "vdnn_all", "vdnn_all_fast", "vdnn_conv", "vdnn_conv_fast",
                                    "vdnn_dyn", "superneurons", "auto"}));
  const Status status = strategies::FindStrategy("magic").status();
  EXPECT_EQ(status.code, Code::kInvalid);
  EXPECT_EQ(status.message,
            "there is no placement strategy 'magic'; there are keep, liveness, intra, inter, "
            "hybrid, sqrt, vdnn_all, vdnn_all_fast, vdnn_conv, vdnn_conv_fast, vdnn_dyn, "
            "superneurons, auto");
}

TEST(Keep, GivesEachNamedBlobOneRangeForDataAndOneForDiff) {
  const HandMade net = InPlaceNet();
  const Plan plan = MustPlan(net.graph, "keep");
  // x, two data and two diff blobs of 8 units, the loss; no mask, since relu's first variant reads
  // y.
  EXPECT_EQ(plan.device_bytes, (5 * 8 + 1) * kAlignment);
  EXPECT_EQ(Count(plan, StepKind::kAlias), 4);
  EXPECT_EQ(Count(plan, IsOffload), 0);
  EXPECT_EQ(Count(plan, StepKind::kWait), 0);
  EXPECT_EQ(Names(net.graph, plan.readable),
            (Lines{"x", "y0@1", "y0.grad", "y1@1", "y1.grad", "loss"}));
}

TEST(Keep, TakesTheFirstVariantThatReadsNoOverwrittenVersion) {
  HandMade net = InPlaceNet();
  // relu1's first variant now reads its input, which is overwritten once relu1 has run in place.
  net.graph.ops[7].variants[0].reads[0] = net.graph.ops[4].variants[0].reads[0];
  net.graph.ops[7].variants[0].may_alias.pop_back();
  const Program program = Decide(net.graph, "keep");
  EXPECT_EQ(program.runs[7].variant, 1);
  EXPECT_EQ(program.runs[9].variant, 0);
  EXPECT_EQ(MustPlan(net.graph, "keep").device_bytes, (5 * 8 + 1 + 2) * kAlignment);
}

TEST(Keep, GivesAVersionThatIsNeededAgainARangeOfItsOwn) {
  HandMade net = InPlaceNet();
  net.graph.ops[7].variants[0].reads[0] = net.graph.ops[4].variants[0].reads[0];
  net.graph.ops[7].variants[0].may_alias.pop_back();
  net.graph.ops[7].variants.pop_back();
  EXPECT_EQ(MustPlan(net.graph, "keep").device_bytes, (6 * 8 + 1) * kAlignment);
}

TEST(Keep, SharesWorkspaces) {
  HandMade net = Chain();
  const TensorId one = net.Add("one", 6, Role::kWorkspace);
  const TensorId two = net.Add("two", 5, Role::kWorkspace);
  const TensorId huge = net.Add("huge", 50, Role::kWorkspace);
  net.graph.ops[1].variants[0].algorithms = {{one, 0, true}, {huge, 0, true}};
  net.graph.ops[2].variants[0].algorithms = {{two, 0, true}};
  EXPECT_EQ(MustPlan(net.graph, "keep").device_bytes, (1 + 6 * 4 + 6) * kAlignment);
}

TEST(Liveness, GivesEachTensorBytesFromItsFirstWriteToItsLastRead) {
  const HandMade net = Chain();
  const Plan plan = MustPlan(net.graph, "liveness");
  EXPECT_EQ(Count(plan, IsOffload), 0);
  EXPECT_EQ(plan.readable, std::vector<TensorId>());
  // At c/backward: x, a, b, c and the gradient of b.
  EXPECT_EQ(plan.device_bytes, (1 + 20) * kAlignment);
}

TEST(Liveness, RunsInPlaceDataOnDataAndGradientsOnGradientsOnly) {
  const HandMade net = InPlaceNet();
  const Program program = Decide(net.graph, "liveness");
  for (const OpId o : {2, 4, 7, 9}) EXPECT_EQ(program.runs[o].aliases.size(), 1u) << o;
  for (const placement::Run& op : program.runs) {
    for (const AliasPair& pair : op.aliases) {
      EXPECT_EQ(net.graph.tensors[pair.output].role, net.graph.tensors[pair.input].role);
    }
  }
  // At loss/backward: x, y0@1, y1@1, both masks, the loss and the gradient of y1@1.
  EXPECT_EQ(MustPlan(net.graph, "liveness").device_bytes, (4 * 8 + 2 * 2 + 1) * kAlignment);
  const Program chain = Decide(Chain().graph, "liveness");
  EXPECT_TRUE(chain.runs[4].aliases.empty());
  EXPECT_EQ(chain.runs[5].aliases, (ShortList<AliasPair>{{6, 5}}));
}

TEST(Intra, PutsGradientsOnTheDataOfTheirBlobAndKeepsEverythingElse) {
  const HandMade net = Chain();
  const Program program = Decide(net.graph, "intra");
  EXPECT_EQ(program.runs[4].aliases, (ShortList<AliasPair>{{5, 3}}));
  const Plan plan = MustPlan(net.graph, "intra");
  EXPECT_EQ(Count(plan, IsOffload), 0);
  // x, a, c, and b with the gradients of b and a on it.
  EXPECT_EQ(plan.device_bytes, (1 + 4 * 4) * kAlignment);
  EXPECT_EQ(Names(net.graph, plan.readable), (Lines{"x", "a", "c", "a.grad"}));
}

TEST(Intra, TakesTheMaskVariantWhereTheGradientOverwritesY) {
  HandMade net = InPlaceNet();
  // conv1 and the loss can write the gradients of y0@1 and y1@1 on their data, which overwrites y.
  const TensorId y0 = 2, dy0 = 5, y1 = 7, dy1 = 10;
  net.graph.ops[6].variants[0].may_alias = {{dy1, y1}};
  net.graph.ops[8].variants[0].may_alias = {{dy0, y0}};
  const Program program = Decide(net.graph, "intra");
  EXPECT_EQ(program.runs[7].variant, 1);
  EXPECT_EQ(program.runs[9].variant, 1);
  EXPECT_EQ(program.runs[6].aliases, (ShortList<AliasPair>{{dy1, y1}}));
  EXPECT_EQ(program.runs[8].aliases, (ShortList<AliasPair>{{dy0, y0}}));
  // x, one range for each of the two blobs, two masks, the loss.
  EXPECT_EQ(MustPlan(net.graph, "intra").device_bytes, (3 * 8 + 2 * 2 + 1) * kAlignment);
}

TEST(Intra, KeepsDataThatIsReadAfterItsGradientIsWritten) {
  HandMade net = Chain();
  net.graph.ops[6].variants[0].reads.push_back(3);
  EXPECT_EQ(Decide(net.graph, "intra").runs[4].aliases, (ShortList<AliasPair>{{5, 4}}));
}

TEST(Inter, MovesWhatHybridMovesButGivesGradientsTheirOwnBytes) {
  for (const HandMade& net : {Chain(), InPlaceNet()}) {
    const Program inter = Decide(net.graph, "inter");
    const Program hybrid = Decide(net.graph, "hybrid");
    for (size_t t = 0; t < net.graph.tensors.size(); ++t) {
      EXPECT_EQ(inter.tensors[t].evictions, hybrid.tensors[t].evictions)
          << net.graph.tensors[t].name;
    }
  }
  const Program program = Decide(Chain().graph, "inter");
  EXPECT_TRUE(program.runs[4].aliases.empty());
  EXPECT_EQ(program.runs[5].aliases, (ShortList<AliasPair>{{6, 5}}));
  // At c/backward: a, b, c and the gradient of b; x is on the host.
  EXPECT_EQ(MustPlan(Chain().graph, "inter").device_bytes, (1 + 16) * kAlignment);
}

TEST(Hybrid, MovesWhatBackwardReadsButNotWhatItReadsFirst) {
  const HandMade net = Chain();
  const Program program = Decide(net.graph, "hybrid");
  // Only x is unused for long enough; b and c are read by the first backward operation, a by the
  // second.
  for (TensorId t = 0; t < 7; ++t) {
    const ShortList<Eviction>& evictions = program.tensors[t].evictions;
    EXPECT_EQ(evictions, t == 1 ? (ShortList<Eviction>{{1, 2, 5, 6}}) : ShortList<Eviction>{})
        << net.graph.tensors[t].name;
  }
}

TEST(Hybrid, PutsGradientsOnWhatTheirOperationReadsLast) {
  const HandMade net = Chain();
  const Program program = Decide(net.graph, "hybrid");
  EXPECT_EQ(program.runs[4].aliases, (ShortList<AliasPair>{{5, 3}}));
  EXPECT_EQ(program.runs[5].aliases, (ShortList<AliasPair>{{6, 5}}));
  EXPECT_EQ(MustPlan(net.graph, "hybrid").device_bytes, (1 + 12) * kAlignment);
}

TEST(Hybrid, TakesTheMaskVariantAndRunsForwardInPlace) {
  const HandMade net = InPlaceNet();
  const Program program = Decide(net.graph, "hybrid");
  EXPECT_EQ(program.runs[7].variant, 1);
  EXPECT_EQ(program.runs[9].variant, 1);
  EXPECT_EQ(program.runs[2].aliases.size(), 1u);
  EXPECT_EQ(program.runs[4].aliases.size(), 1u);
  const Plan plan = MustPlan(net.graph, "hybrid");
  const Lines steps = Steps(net.graph, plan);
  for (const std::string copy :
       {"copy device host x", "copy device host y0@1", "copy device host y0:mask"}) {
    EXPECT_EQ(std::count(steps.begin(), steps.end(), copy), 1) << copy;
  }
  EXPECT_EQ(Count(plan, IsOffload), 3);
  EXPECT_EQ(Names(net.graph, plan.readable), (Lines{"loss"}));
  // At conv1/backward: y0@1, the gradient of y1 and that of y0@1, y0's mask on its way back, the
  // loss.
  EXPECT_EQ(plan.device_bytes, (3 * 8 + 2 + 1) * kAlignment);
}

TEST(Hybrid, LaysNoOutputOnAnInputThatIsNeededLater) {
  HandMade net = Chain();
  net.graph.tensors[3].keep = true;
  const Program program = Decide(net.graph, "hybrid");
  EXPECT_EQ(program.runs[4].aliases, (ShortList<AliasPair>{{5, 4}}));
  EXPECT_EQ(Names(net.graph, MustPlan(net.graph, "hybrid").readable), (Lines{"b"}));
}

TEST(Hybrid, LeavesAKeptTensorThatWasMovedInTheHostTier) {
  HandMade net = Chain();
  net.graph.tensors[1].keep = true;
  const Plan plan = MustPlan(net.graph, "hybrid");
  EXPECT_EQ(Names(net.graph, plan.readable), (Lines{"x"}));
  EXPECT_EQ(plan.device_bytes, (1 + 12) * kAlignment);
}

TEST(Hybrid, MovesNothingWithoutABackward) {
  HandMade net = Chain();
  net.graph.ops.resize(4);
  const Plan plan = MustPlan(net.graph, "hybrid");
  EXPECT_EQ(Count(plan, IsOffload), 0);
  EXPECT_EQ(plan.device_bytes, (1 + 8) * kAlignment);
}

TEST(MakePlan, FitsEveryBudgetFromTheSmallestUp) {
  const HandMade net = Chain();
  const int64_t smallest = MustPlan(net.graph, "hybrid").device_bytes;
  for (const int64_t budget : {smallest, smallest + 1, 10 * smallest}) {
    EXPECT_TRUE(MakePlan(net.graph, {}, {budget, 4 * kAlignment}, "hybrid").ok());
  }
}

TEST(MakePlan, ReportsTheMissingBytesAndTheFlagThatHelps) {
  HandMade net = Chain();
  for (Tensor& tensor : net.graph.tensors) tensor.bytes *= 4096;
  const Status status = MakePlan(net.graph, {}, {12 << 20, 1 << 30}, "hybrid").status();
  EXPECT_EQ(status.code, Code::kDoesNotFit);
  EXPECT_EQ(
      status.message,
      "strategy hybrid needs 13.0 MiB (13631488 bytes) of device memory at b/forward, the "
      "budget is 12.0 MiB; its smallest budget is --device_memory=13631488, and --placement=auto "
      "fits");
  const Status host = MakePlan(net.graph, {}, {1 << 30, 1 << 20}, "hybrid").status();
  EXPECT_EQ(host.code, Code::kDoesNotFit);
  EXPECT_EQ(
      host.message,
      "strategy hybrid needs 4.0 MiB (4194304 bytes) of host memory, the budget is 1.0 MiB; "
      "it fits with --host_memory=4194304, and --placement=keep, --placement=liveness, "
      "--placement=intra, --placement=sqrt, --placement=vdnn_conv, --placement=vdnn_conv_fast, "
      "--placement=vdnn_dyn, --placement=superneurons fit");
}

TEST(MakePlan, ReportsInvalidGraphsAndStrategies) {
  HandMade net = Chain();
  EXPECT_EQ(MakePlan(net.graph, {}, {}, "magic").status().code, Code::kInvalid);
  net.graph.tensors[1].bytes = -1;
  EXPECT_NE(MakePlan(net.graph, {}, {}, "keep").status().message.find("tensor x"),
            std::string::npos);
}

TEST(FindPeak, DividesTheFullestOperationByRole) {
  const HandMade net = InPlaceNet();
  for (const std::string& strategy : StrategyNames()) {
    const Plan plan = MustPlan(net.graph, strategy);
    const Peak peak = FindPeak(net.graph, plan);
    int64_t sum = 0;
    for (const int64_t bytes : peak.by_role) sum += bytes;
    EXPECT_EQ(sum, peak.bytes);
    EXPECT_EQ(peak.bytes + peak.unused, plan.device_bytes);
    EXPECT_GE(peak.unused, 0);
    EXPECT_NE(peak.op, kNone);
  }
}

TEST(FindPeak, CountsARangeOnceUnderTheRoleThatOwnsItLast) {
  const HandMade net = Chain();
  const Peak peak = FindPeak(net.graph, MustPlan(net.graph, "hybrid"));
  EXPECT_EQ(net.graph.ops[peak.op].name, "b/forward");
  EXPECT_EQ(peak.by_role[static_cast<size_t>(Role::kActivation)], 12 * kAlignment);
  EXPECT_EQ(peak.by_role[static_cast<size_t>(Role::kParameter)], kAlignment);
  EXPECT_EQ(FindPeak(Graph{}, Plan{}).op, kNone);
}

TEST(Occupancy, IsHighestAtThePeakAndEndsWithWhatStays) {
  for (const HandMade& net : {Chain(), InPlaceNet()}) {
    for (const std::string& strategy : StrategyNames()) {
      const Plan plan = MustPlan(net.graph, strategy);
      const std::vector<int64_t> device = Occupancy(net.graph, plan, Tier::kDevice);
      const std::vector<int64_t> host = Occupancy(net.graph, plan, Tier::kHost);
      ASSERT_EQ(device.size(), plan.steps.size());
      ASSERT_EQ(host.size(), plan.steps.size());
      const std::vector<RoleBytes> by_role = OccupancyByRole(net.graph, plan);
      const Peak fullest = FindPeak(net.graph, plan);
      int64_t peak = 0;
      size_t run = 0;
      for (size_t i = 0; i < plan.steps.size(); ++i) {
        if (plan.steps[i].op == kNone) continue;
        ASSERT_LT(run, by_role.size());
        EXPECT_EQ(std::accumulate(by_role[run].begin(), by_role[run].end(), int64_t{0}), device[i]);
        if (device[i] > peak) {
          peak = device[i];
          EXPECT_EQ(by_role[run] == fullest.by_role, peak == fullest.bytes) << strategy;
        }
        ++run;
      }
      EXPECT_EQ(run, by_role.size());
      EXPECT_EQ(peak, fullest.bytes) << strategy;
      EXPECT_EQ(*std::max_element(host.begin(), host.end()) > 0, plan.host_bytes > 0) << strategy;
      EXPECT_LE(*std::max_element(host.begin(), host.end()), plan.host_bytes) << strategy;
      EXPECT_GE(device.back(), StateBytes(net.graph)) << strategy;
      if (plan.readable.empty()) {
        EXPECT_EQ(device.back(), StateBytes(net.graph)) << strategy;
        EXPECT_EQ(host.back(), 0) << strategy;
      }
    }
  }
}

}  // namespace
}  // namespace layrub::placement
