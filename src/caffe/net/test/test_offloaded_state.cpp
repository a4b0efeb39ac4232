// Parameters, gradients and history whose home is off the device: training gives the same bits as
// without a plan, whatever users do between the passes.
#include <google/protobuf/text_format.h>

#include <boost/filesystem.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "caffe/net/test/tight_training.hpp"
#include "caffe/net/test/training.hpp"
#include "layrub/placement/cost/timeline.hpp"

namespace caffe {
namespace {

constexpr int kIterations = 4;

using Train = std::function<void(OpenSolver*)>;

void Step(OpenSolver* solver) { solver->Step(kIterations); }

/// Where state off the device is.
enum class Away { kInMemory, kInAFile, kInBoth };

int HomesOffDevice(const Net<float>& net) {
  int count = 0;
  for (const layrub::Home& home : net.planned()->plan().homes)
    count += home.tier != layrub::Tier::kDevice;
  return count;
}

/// Compares `train` on a net without a memory plan and under a plan with the fewest bytes.
class OffloadedState : public ::testing::TestWithParam<std::tuple<std::string, Away>> {
 protected:
  static SolverParameter Param(const std::string& strategy) {
    SolverParameter param = SolverFor(ReadNet(std::get<0>(GetParam())), strategy);
    param.mutable_placement()->set_keep_gradients(true);  // test_transient_gradients has the others
    return param;
  }

  static std::vector<float> Kept(SolverParameter param, const Train& train) {
    param.mutable_placement()->set_strategy("keep");
    OpenSolver solver(param);
    EXPECT_TRUE(solver.Place().ok());
    train(&solver);
    return TrainedState(&solver);
  }

  static std::vector<float> Offloaded(SolverParameter param, const Train& train) {
    param.mutable_placement()->set_strategy("auto");
    const Away away = std::get<1>(GetParam());
    layrub::Budget budget;
    if (away != Away::kInMemory)
      budget = {.host = away == Away::kInBoth ? 8 << 10 : 0,
                .spill = layrub::kUnlimitedBudget.spill};
    param = WithinSmallestBudget(param, budget);
    if (away != Away::kInMemory) param.mutable_placement()->set_spill_file(::testing::TempDir());
    if (away == Away::kInBoth) param.mutable_placement()->set_host_memory("8KiB");
    OpenSolver solver(param);
    solver.mutable_placement_extra()->executor.poison = true;
    EXPECT_TRUE(solver.Place().ok());
    EXPECT_GT(HomesOffDevice(*solver.net()), 0);
    train(&solver);
    const layrub::Executor& executor = solver.net()->planned()->executor();
    EXPECT_LT(executor.plan().device_bytes, layrub::FloorBytes(executor.graph()));
    EXPECT_TRUE(executor.SentinelsIntact());
    return TrainedState(&solver);
  }

  static void ExpectSame(const SolverParameter& param, const Train& train) {
    const std::vector<float> kept = Kept(param, train);
    EXPECT_TRUE(AllFinite(kept));
    EXPECT_TRUE(SameBits(Offloaded(param, train), kept));
  }
};

TEST_P(OffloadedState, TrainsToTheSameBitsAsWithoutAPlan) { ExpectSame(Param(""), Step); }

class OffloadedStateInUse : public OffloadedState {};

TEST_P(OffloadedStateInUse, AccumulatesGradientsOfSeveralPasses) {
  SolverParameter param = Param("");
  param.set_iter_size(2);
  ExpectSame(param, Step);
}

TEST_P(OffloadedStateInUse, ClipsGradients) {
  SolverParameter param = Param("");
  param.set_clip_gradients(0.1f);
  ExpectSame(param, Step);
}

TEST_P(OffloadedStateInUse, CanBeReadAndWrittenBetweenPasses) {
  ExpectSame(Param(""), [](OpenSolver* solver) {
    const auto halve = [](int count, float* values) {
      for (int i = 0; i < count; ++i) values[i] *= 0.5f;
    };
    const std::vector<Blob<float>*>& params = solver->net()->learnable_params();
    for (int i = 0; i < kIterations; ++i) {
      solver->net()->ClearParamDiffs();
      for (Blob<float>* param : params) halve(param->count(), param->mutable_cpu_data());
      solver->net()->Forward();
      for (Blob<float>* param : params) halve(param->count(), param->mutable_cpu_diff());
      solver->net()->Backward();
      for (Blob<float>* param : params) halve(param->count(), param->mutable_cpu_diff());
      for (const auto& history : solver->state())
        halve(history->count(), history->mutable_cpu_data());
      solver->ApplyUpdate();
    }
  });
}

TEST_P(OffloadedStateInUse, SurvivesIncompleteIterations) {
  ExpectSame(Param(""), [](OpenSolver* solver) {
    solver->net()->ClearParamDiffs();
    for (int i = 0; i < kIterations; ++i) {
      solver->net()->Forward();
      solver->net()->ForwardBackward();
      solver->net()->ForwardBackward();
      for (Blob<float>* param : solver->net()->learnable_params()) {
        if (i == 1) param->mutable_cpu_data()[0] += 0.25f;
      }
      solver->net()->Forward();
      solver->ApplyUpdate();
    }
  });
}

TEST_P(OffloadedStateInUse, ResumesFromASnapshot) {
  namespace fs = boost::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / fs::unique_path();
  fs::create_directories(folder);
  SolverParameter param = Param("");
  param.set_snapshot_prefix((folder / "s").string());
  const std::vector<float> kept =
      Kept(param, [](OpenSolver* solver) { solver->Step(kIterations); });
  Offloaded(param, [](OpenSolver* solver) {
    solver->Step(kIterations / 2);
    solver->Snapshot();
  });
  const std::string state = (folder / "s_iter_2.solverstate").string();
  EXPECT_TRUE(SameBits(Offloaded(param,
                                 [&](OpenSolver* solver) {
                                   solver->Restore(state.c_str());
                                   solver->Step(kIterations - kIterations / 2);
                                 }),
                       kept));
  fs::remove_all(folder);
}

TEST_P(OffloadedStateInUse, IsCorrectAfterLeavingThePlan) {
  ExpectSame(Param(""), [](OpenSolver* solver) {
    solver->Step(1);
    solver->net()->ForwardBackward();
    solver->net()->ForwardFrom(0);  // leaves the plan
    EXPECT_EQ(solver->net()->planned(), nullptr);
    solver->net()->Backward();
    solver->ApplyUpdate();
    solver->Step(1);
  });
}

/// The update of a large layer would set the floor if its history were on the device.
TEST(LargeUpdates, UseTheirHistoryInHostMemory) {
  NetParameter net;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    name: "large"
    layer { name: "data" type: "DummyData" top: "x" top: "t"
            dummy_data_param { shape { dim: 2 dim: 64 } shape { dim: 2 dim: 64 }
                               data_filler { type: "gaussian" std: 1 } } }
    layer { name: "fc" type: "InnerProduct" bottom: "x" top: "fc"
            inner_product_param { num_output: 64 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "fc" bottom: "t" top: "loss" })",
                                                            &net));
  SolverParameter param = SolverFor(net, "keep");
  OpenSolver kept(param);
  ASSERT_TRUE(kept.Place().ok());
  kept.Step(kIterations);
  param.mutable_placement()->set_strategy("auto");
  OpenSolver solver(WithinSmallestBudget(param));
  solver.mutable_placement_extra()->executor.poison = true;
  ASSERT_TRUE(solver.Place().ok());
  // The backward pass needs the weights and their gradient, and so does the update.
  constexpr int64_t kWeights = 64 * 64 * sizeof(float);
  const layrub::Plan& plan = solver.net()->planned()->plan();
  const layrub::Graph& graph = solver.net()->planned()->graph();
  EXPECT_LT(plan.device_bytes - layrub::HomeBytes(graph, plan), kWeights * 5 / 2);
  const std::vector<int64_t> bytes = layrub::HostAccessBytes(graph, plan);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), kWeights), 1);
  for (int i = 0; i < kIterations; ++i) {
    solver.Step(1);
    float* const history = solver.state()[0]->mutable_cpu_data();
    history[0] *= 2;
    solver.state()[0]->mutable_cpu_data()[0] = history[0] / 2;
  }
  EXPECT_TRUE(solver.net()->planned()->executor().SentinelsIntact());
  EXPECT_TRUE(SameBits(TrainedState(&solver), TrainedState(&kept)));
}

std::string NameOf(const ::testing::TestParamInfo<std::tuple<std::string, Away>>& info) {
  return std::get<0>(info.param) +
         std::array{"_in_memory", "_in_a_file",
                    "_in_both"}[static_cast<int>(std::get<1>(info.param))];
}

const auto kAways = ::testing::Values(Away::kInMemory, Away::kInAFile, Away::kInBoth);

INSTANTIATE_TEST_SUITE_P(Nets, OffloadedState,
                         ::testing::Combine(::testing::ValuesIn(SmallNets()), kAways), NameOf);
INSTANTIATE_TEST_SUITE_P(Nets, OffloadedStateInUse,
                         ::testing::Combine(::testing::Values("lenet", "shared_weights"), kAways),
                         NameOf);

}  // namespace
}  // namespace caffe
