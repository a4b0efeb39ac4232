// Plans that update each parameter within the backward pass: training gives the bits that it gives
// without a plan, and what cannot be read then is refused with the setting that keeps it.
#include <boost/filesystem.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe/net/test/tight_training.hpp"
#include "caffe/net/test/training.hpp"
#include "caffe/solver_plans.hpp"
#include "layrub/placement/check/check.hpp"

namespace caffe {
namespace {

constexpr int kIterations = 4;

/// Two inner products in a row; the first one has no bias.
const char kTwoLayers[] =
    "name: 'two' "
    "layer { name: 'data' type: 'DummyData' top: 'x' top: 'y'"
    "  dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 dim: 3 }"
    "    data_filler { type: 'gaussian' } } } "
    "layer { name: 'one' type: 'InnerProduct' bottom: 'x' top: 'h' inner_product_param {"
    "  num_output: 5 bias_term: false weight_filler { type: 'xavier' } } } "
    "layer { name: 'two' type: 'InnerProduct' bottom: 'h' top: 'z' inner_product_param {"
    "  num_output: 3 weight_filler { type: 'xavier' } } } "
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'z' bottom: 'y' top: 'loss' }";

layrub::Graph GraphOf(const NetParameter& net) {
  return Net<float>(net).MemoryGraph(1, {}, {}, true);
}

std::vector<std::string> BackwardOps(const layrub::Graph& graph) {
  std::vector<std::string> names;
  for (const layrub::Op& op : graph.ops) {
    if (op.pass == layrub::Pass::kBackward) names.push_back(op.name);
  }
  return names;
}

bool IsState(const layrub::Graph& graph, const std::string& tensor) {
  for (const layrub::Tensor& each : graph.tensors) {
    if (each.name == tensor) return each.is_state();
  }
  ADD_FAILURE() << "there is no tensor " << tensor;
  return false;
}

TEST(TransientGradientsGraph, UpdatesAParameterRightAfterItsLastUse) {
  const layrub::Graph graph = GraphOf(ParseNet(kTwoLayers));
  EXPECT_EQ(BackwardOps(graph),
            (std::vector<std::string>{"loss/backward", "two/backward", "two[0]/update",
                                      "two[1]/update", "one/backward", "one[0]/update"}));
  EXPECT_TRUE(layrub::Validate(graph).ok());
  for (const std::string param : {"one[0]", "two[0]", "two[1]"}) {
    EXPECT_TRUE(IsState(graph, param)) << param;
    EXPECT_FALSE(IsState(graph, param + ".grad")) << param;
  }
}

TEST(TransientGradientsGraph, UpdatesASharedParameterAfterAllItsLayers) {
  const layrub::Graph graph = GraphOf(ReadNet("shared_weights"));
  ASSERT_TRUE(layrub::Validate(graph).ok());
  int updates = 0, shared = 0;
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const layrub::Op& update = graph.ops[o];
    if (update.kind != layrub::OpKind::kUpdate) continue;
    ++updates;
    int users = 0;
    for (size_t other = 0; other < graph.ops.size(); ++other) {
      if (other == o || graph.ops[other].pass != layrub::Pass::kBackward) continue;
      for (const layrub::Variant& variant : graph.ops[other].variants) {
        for (const layrub::TensorId tensor : update.variants[0].writes) {
          const auto& writes = variant.writes;
          if (std::count(writes.begin(), writes.end(), tensor) == 0) continue;
          EXPECT_LT(other, o) << graph.ops[other].name << ", " << update.name;
          ++users;
        }
      }
    }
    shared += users > 1;
  }
  EXPECT_GT(updates, 0);
  EXPECT_GT(shared, 0);
}

TEST(TransientGradientsGraph, LeavesAnUpdateWithoutBackwardInTheUpdatePass) {
  NetParameter net = ParseNet(kTwoLayers);
  net.mutable_layer(2)->add_propagate_down(false);  // no derivative reaches layer one
  const layrub::Graph graph = GraphOf(net);
  ASSERT_TRUE(layrub::Validate(graph).ok());
  const auto update = std::find_if(graph.ops.begin(), graph.ops.end(),
                                   [](const auto& op) { return op.name == "one[0]/update"; });
  ASSERT_NE(update, graph.ops.end());
  EXPECT_EQ(update->pass, layrub::Pass::kUpdate);
  EXPECT_TRUE(IsState(graph, "one[0].grad"));
}

TEST(TransientGradientsGraph, NeedsFewerBytesThanOneThatKeepsGradients) {
  for (const std::string& name : SmallNets()) {
    const Net<float> net(ReadNet(name));
    const layrub::Graph keeps = net.MemoryGraph(1), updates = net.MemoryGraph(1, {}, {}, true);
    EXPECT_LT(layrub::StateBytes(updates), layrub::StateBytes(keeps)) << name;
    EXPECT_LT(layrub::FloorBytes(updates), layrub::FloorBytes(keeps)) << name;
    EXPECT_LE(layrub::StateFloorBytes(updates), layrub::StateFloorBytes(keeps)) << name;
  }
}

/// `param`, with auto within its smallest budget.
SolverParameter Tight(SolverParameter param) {
  param.mutable_placement()->set_strategy("auto");
  const std::unique_ptr<Solver<float>> free(SolverRegistry<float>::CreateSolver(param));
  PlacementOptions options = free->WantedPlacement().value();
  const auto smallest = SmallestPlans(free->MemoryGraphs(options).value(), options);
  CHECK(smallest.ok()) << smallest.status().message;
  param.mutable_placement()->set_device_memory(BudgetFor(smallest.value().device_bytes));
  return param;
}
SolverParameter Tight(const NetParameter& net) { return Tight(SolverFor(net)); }

using Train = std::function<void(Solver<float>*)>;

void Step(Solver<float>* solver) { solver->Step(kIterations); }

void ByHand(Solver<float>* solver) {
  for (int i = 0; i < kIterations; ++i) {
    solver->net()->ClearParamDiffs();
    solver->net()->Forward();
    solver->net()->Backward();
    solver->ApplyUpdate();
  }
}

/// Parameters and history after `train`.
std::vector<float> Trained(const SolverParameter& param, const Train& train) {
  const std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
  solver->mutable_placement_extra()->executor.poison = true;
  EXPECT_TRUE(solver->Place().ok());
  const bool keeps = param.placement().strategy() == "keep";
  EXPECT_EQ(solver->net()->updates_within_backward(), !keeps);
  train(solver.get());
  if (const PlannedNet<float>* planned = solver->net()->planned()) {
    EXPECT_TRUE(planned->executor().SentinelsIntact());
  }
  std::vector<float> values;
  const auto append = [&](const Blob<float>& blob) {
    values.insert(values.end(), blob.cpu_data(), blob.cpu_data() + blob.count());
  };
  for (Blob<float>* blob : solver->net()->learnable_params()) append(*blob);
  for (const auto& history : solver->ParameterHistory()) {
    for (const Blob<float>* blob : history) append(*blob);
  }
  return values;
}

void ExpectBitsOfKeep(SolverParameter param, const Train& train) {
  const std::vector<float> updated = Trained(param, train);
  param.mutable_placement()->Clear();
  param.mutable_placement()->set_strategy("keep");
  const std::vector<float> kept = Trained(param, train);
  EXPECT_TRUE(AllFinite(kept));
  EXPECT_TRUE(SameBits(updated, kept));
}

class TransientGradients : public ::testing::TestWithParam<std::string> {};

TEST_P(TransientGradients, TrainToTheBitsOfKeepInTheSmallestBudget) {
  ExpectBitsOfKeep(Tight(ReadNet(GetParam())), Step);
}

TEST_P(TransientGradients, TrainToTheBitsOfKeepWithStateOnTheDevice) {
  SolverParameter param = SolverFor(ReadNet(GetParam()));
  param.mutable_placement()->set_offload_state(false);
  ExpectBitsOfKeep(Tight(param), Step);
}

TEST_P(TransientGradients, TrainToTheBitsOfKeepWithASpillFile) {
  SolverParameter param = SolverFor(ReadNet(GetParam()));
  param.mutable_placement()->set_spill_file(::testing::TempDir());
  ExpectBitsOfKeep(Tight(param), Step);
}

TEST_P(TransientGradients, AllowPassesCalledOneByOne) {
  ExpectBitsOfKeep(Tight(ReadNet(GetParam())), ByHand);
}

INSTANTIATE_TEST_SUITE_P(Nets, TransientGradients, ::testing::ValuesIn(SmallNets()),
                         [](const auto& info) { return info.param; });

TEST(TransientGradientsSolver, EverySolverTypeTrainsToTheBitsOfKeep) {
  for (const std::string& type : SolverRegistry<float>::SolverTypeList()) {
    SCOPED_TRACE(type);
    SolverParameter param = SolverFor(ReadNet("lenet"));
    param.set_type(type);
    if (type == "AdaGrad" || type == "RMSProp") param.clear_momentum();
    ExpectBitsOfKeep(Tight(param), Step);
  }
}

TEST(TransientGradientsSolver, KeepsGradientsWhereEverythingFits) {
  OpenSolver solver(SolverFor(ReadNet("lenet"), "auto"));
  solver.Step(1);
  EXPECT_FALSE(solver.net()->updates_within_backward());
  for (const Blob<float>* param : solver.net()->learnable_params()) param->cpu_diff();
}

TEST(TransientGradientsSolver, KeepsGradientsThatSomethingNeedsAndSaysWhat) {
  const auto why = [](const std::function<void(SolverParameter*)>& change) {
    SolverParameter param = SolverFor(ReadNet("lenet"), "auto");
    change(&param);
    OpenSolver solver(param);
    const auto graphs = solver.MemoryGraphs(solver.WantedPlacement().value());
    EXPECT_NE(graphs.value().updating.has_value(), !graphs.value().why_gradients_stay.empty());
    return graphs.value().why_gradients_stay;
  };
  EXPECT_EQ(why([](SolverParameter*) {}), "");
  EXPECT_EQ(why([](SolverParameter* param) { param->set_clip_gradients(1); }),
            "clip_gradients needs all of them at once");
  EXPECT_EQ(why([](SolverParameter* param) { param->set_iter_size(2); }),
            "iter_size adds up those of several passes");
  EXPECT_EQ(why([](SolverParameter* param) { param->set_debug_info(true); }),
            "debug_info reports them");
  EXPECT_EQ(
      why([](SolverParameter* param) { param->mutable_placement()->set_keep_gradients(true); }),
      "keep_gradients is set");
}

TEST(TransientGradientsSolver, AreForStrategiesThatAdaptToTheBudget) {
  OpenSolver solver(SolverFor(ReadNet("lenet"), "auto"));
  PlacementOptions options = solver.WantedPlacement().value();
  const SolverGraphs graphs = solver.MemoryGraphs(options).value();
  for (const std::string& strategy : layrub::StrategyNames()) {
    options.strategy = strategy;
    const auto smallest = SmallestPlans(graphs, options);
    ASSERT_TRUE(smallest.ok()) << strategy;
    const SizedPlan& plan = smallest.value().train;
    EXPECT_EQ(plan.transient_gradients, strategy == "auto") << strategy;
    EXPECT_EQ(&graphs.of(plan), &SmallestGraph(graphs, options)) << strategy;
    EXPECT_TRUE(layrub::Check(graphs.of(plan), *plan.plan, {}).empty()) << strategy;
  }
}

TEST(TransientGradientsSolver, ResumeFromASnapshotToTheSameBits) {
  namespace fs = boost::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / fs::unique_path();
  fs::create_directories(folder);
  SolverParameter param = Tight(ReadNet("lenet"));
  param.set_snapshot_prefix((folder / "s").string());
  const std::vector<float> whole = Trained(param, Step);
  Trained(param, [](Solver<float>* solver) {
    solver->Step(kIterations / 2);
    solver->Snapshot();
  });
  const std::string state = (folder / "s_iter_2.solverstate").string();
  EXPECT_TRUE(SameBits(whole, Trained(param, [&](Solver<float>* solver) {
                         solver->Restore(state.c_str());
                         solver->Step(kIterations - kIterations / 2);
                       })));
  fs::remove_all(folder);
}

TEST(TransientGradientsSolver, AreKeptByANetThatHasLeftItsPlan) {
  ExpectBitsOfKeep(Tight(ReadNet("lenet")), [](Solver<float>* solver) {
    solver->Step(1);
    solver->net()->ClearParamDiffs();
    solver->net()->ForwardFrom(0);  // leaves the plan
    EXPECT_EQ(solver->net()->planned(), nullptr);
    solver->net()->Backward();
    for (const Blob<float>* param : solver->net()->learnable_params()) param->cpu_diff();
    solver->ApplyUpdate();
    solver->Step(1);
  });
}

class TransientGradientsDeathTest : public ::testing::Test {
 protected:
  TransientGradientsDeathTest() : solver_(Tight(ReadNet("lenet"))) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    solver_.Step(1);
  }
  Net<float>* net() { return solver_.net().get(); }

  OpenSolver solver_;
};

TEST_F(TransientGradientsDeathTest, RefusesToReadAGradientAndNamesTheSetting) {
  EXPECT_DEATH(net()->learnable_params()[0]->cpu_diff(),
               "gradient 'conv1.0..grad' cannot be read.*keep_gradients: true");
}

TEST_F(TransientGradientsDeathTest, RefusesASecondPassBeforeTheUpdate) {
  net()->ForwardBackward();
  EXPECT_DEATH(net()->Forward(), "each Backward.. needs an ApplyUpdate.*keep_gradients: true");
  EXPECT_DEATH(net()->Backward(), "each Backward.. needs an ApplyUpdate");
  EXPECT_DEATH(net()->ForwardFrom(0), "each Backward.. needs an ApplyUpdate");
  solver_.ApplyUpdate();
  net()->Forward();
}

TEST_F(TransientGradientsDeathTest, RefusesAnUpdateWithoutABackward) {
  net()->Forward();
  EXPECT_DEATH(solver_.ApplyUpdate(), "an update needs a Backward.*keep_gradients: true");
}

}  // namespace
}  // namespace caffe
