// Plans of real nets: they are proved at every budget, are refused if any step is left out, and are
// as small as they should be.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "caffe/net/test/training.hpp"
#include "caffe/util/io.hpp"
#include "layrub/placement/check/check.hpp"
#include "layrub/placement/policies/conv_like.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/mutate.hpp"
#include "layrub/placement/test/slides.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "layrub/placement/test/tiers.hpp"

namespace caffe {
namespace {

layrub::Graph TrainingGraph(const std::string& name) {
  NetParameter param = WithOwnKernels(ReadNet(name));
  param.mutable_state()->set_phase(TRAIN);
  return Net<float>(param).MemoryGraph(1);
}

/// The data that all tests of a net and a strategy use.
struct Planned {
  layrub::Graph graph;
  layrub::Plan tight;  ///< within the smallest budget
  int64_t smallest = 0;
};

/// Computed once, because strategies that search take long.
const Planned& PlannedOnce(const std::string& net, const std::string& strategy) {
  static std::map<std::pair<std::string, std::string>, Planned> known;
  const auto [entry, is_new] = known.try_emplace({net, strategy});
  if (is_new) {
    Planned& planned = entry->second;
    planned.graph = TrainingGraph(net);
    planned.smallest = layrub::testing::SmallestBudget(planned.graph, strategy);
    planned.tight = layrub::testing::PlanTightly(planned.graph, strategy);
  }
  return entry->second;
}

class NetPlans : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  const std::string strategy_ = std::get<1>(GetParam());
  const Planned& planned_ = PlannedOnce(std::get<0>(GetParam()), strategy_);
  const layrub::Graph& graph_ = planned_.graph;
  const layrub::Plan& plan_ = planned_.tight;
  const int64_t smallest_ = planned_.smallest;
};

TEST_P(NetPlans, AreProvedOrReportedNotToFitAtEveryBudget) {
  EXPECT_GE(smallest_, layrub::StateFloorBytes(graph_));
  std::mt19937 random(7);
  std::uniform_int_distribution<int64_t> bytes(smallest_ / 2, smallest_ * 2);
  std::vector<int64_t> budgets = {0, smallest_ - 1, smallest_, smallest_ + 1};
  for (int i = 1 + layrub::testing::LongExamples() / 25; i > 0; --i)
    budgets.push_back(bytes(random));
  for (int64_t budget : budgets) {
    const auto plan = layrub::MakePlan(graph_, {}, {budget}, strategy_);
    // A search with a budget may need a little more memory than one without.
    if (plan.ok() && budget < smallest_) {
      ASSERT_TRUE(layrub::UsesCosts(strategy_)) << budget;
    }
    ASSERT_TRUE(plan.ok() || budget < smallest_) << budget;
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code, layrub::Code::kDoesNotFit);
      EXPECT_NE(plan.status().message.find("--device_memory="), std::string::npos)
          << plan.status().message;
      continue;
    }
    EXPECT_LE(plan.value().device_bytes, budget);
    EXPECT_EQ(layrub::Check(graph_, plan.value(), {budget}), std::vector<std::string>());
  }
}

TEST_P(NetPlans, HaveNoUnneededStep) {
  int tried = 0;
  for (const auto& mutation : layrub::testing::Mutations(graph_, plan_)) {
    if (!mutation.breaks()) continue;
    ++tried;
    const layrub::Plan mutated = layrub::testing::Apply(plan_, mutation);
    EXPECT_FALSE(layrub::Check(graph_, mutated).empty())
        << "nobody objects to a change of step " << mutation.step << ": "
        << layrub::Name(plan_.steps[mutation.step].kind);
  }
  EXPECT_GT(tried, 100);
}

TEST_P(NetPlans, UseTheMeansOfTheirStrategy) {
  const layrub::Plan plan = layrub::MakePlan(graph_, {}, {}, strategy_).value();
  const int64_t keep = layrub::MakePlan(graph_, {}, {}, "keep").value().device_bytes;
  EXPECT_EQ(plan.device_bytes < keep, !layrub::KeepsWhatFits(strategy_)) << plan.device_bytes;
  EXPECT_EQ(layrub::testing::BytesOffloaded(graph_, plan) > 0, layrub::testing::Moves(strategy_));
  EXPECT_EQ(layrub::testing::Recomputed(plan) > 0, layrub::testing::Recomputes(strategy_));
}

TEST_P(NetPlans, PackTightly) {
  const layrub::Peak peak = layrub::FindPeak(graph_, plan_);
  EXPECT_LE(static_cast<double>(plan_.device_bytes), 1.02 * static_cast<double>(peak.bytes));
  int64_t sum = peak.unused;
  for (int64_t bytes : peak.by_role) sum += bytes;
  EXPECT_EQ(sum, plan_.device_bytes);
}

/// Also when tensors slide within the device.
TEST_P(NetPlans, AreConfirmedByTheIndependentScript) {
  const layrub::Plan sliding = layrub::testing::WithSlides(graph_, plan_, /*seed=*/3);
  const bool frees = strategy_ != "keep" && strategy_ != "intra";
  EXPECT_EQ(layrub::testing::SlidesIn(graph_, sliding) > 10, frees);
  std::string folder;
  MakeTempDir(&folder);
  std::string command = "python3 '" + SourceFolder() + "/tools/verify/verify_plan.py'";
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder + name) << text;
    command += " '" + folder + name + "'";
  };
  write("/graph.txt", layrub::ToText(graph_));
  write("/plan.txt", layrub::ToText(plan_, graph_));
  write("/sliding.txt", layrub::ToText(sliding, graph_));
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(
    EveryNetAndStrategy, NetPlans,
    ::testing::ValuesIn(layrub::testing::Pairs(SmallNets(), layrub::StrategyNames())),
    [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param); });

class SmallNet : public ::testing::TestWithParam<std::string> {};

TEST_P(SmallNet, HasItsPeakAwayFromTheFirstLayer) {
  const layrub::Graph graph = TrainingGraph(GetParam());
  const auto plan = layrub::MakePlan(graph, {}, {}, "hybrid");
  ASSERT_TRUE(plan.ok());
  const layrub::OpId peak = layrub::FindPeak(graph, plan.value()).op;
  EXPECT_EQ(graph.ops[peak].name.find("data/"), std::string::npos);
  EXPECT_EQ(graph.ops[peak].name.find("conv1/"), std::string::npos) << graph.ops[peak].name;
}

TEST_P(SmallNet, HasAThreeWaySplitAndAnUnreadDerivative) {
  const layrub::Graph graph = TrainingGraph(GetParam());
  bool three_way = false, fill = false;
  for (const layrub::Op& op : graph.ops) {
    if (op.name.find("_split") != std::string::npos && op.pass == layrub::Pass::kBackward) {
      three_way |= op.variants[0].reads.size() == 3;
    }
    fill |= op.kind == layrub::OpKind::kFill;
  }
  EXPECT_TRUE(three_way);
  EXPECT_TRUE(fill);
}

TEST_P(SmallNet, HasConvLikeOperationsThatAreConvolutionsAndInnerProducts) {
  const layrub::Graph graph = TrainingGraph(GetParam());
  const std::set<std::string> types{"Convolution", "Deconvolution", "InnerProduct"};
  const NetParameter net = ReadNet(GetParam());
  int seen = 0;
  for (const LayerParameter& layer : net.layer()) {
    for (const layrub::Op& op : graph.ops) {
      if (op.name != layer.name() + "/forward" && op.name != layer.name() + "/backward") continue;
      EXPECT_EQ(layrub::placement::policies::IsConvLike(graph, op), types.count(layer.type()) > 0)
          << op.name;
      ++seen;
    }
  }
  EXPECT_GE(seen, 6);
}

INSTANTIATE_TEST_SUITE_P(EveryNet, SmallNet, ::testing::ValuesIn(SmallNets()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace caffe
