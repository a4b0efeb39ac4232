// Operations that a GPU replays without calling their layers give the same results as the layers.
// On a device that launches no kernels nothing is replayed.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/net/test/training.hpp"
#include "caffe/operands.hpp"
#include "caffe/parameter_callback.hpp"
#include "caffe/placement.hpp"
#include "caffe/test/program_data.hpp"
#include "layrub/placement/test/tiers.hpp"

namespace caffe {
namespace {

constexpr int kIterations = 5;

bool GpuRepeats() { return DeviceContext::Current().launch; }

struct Trained {
  std::vector<float> state;
  int64_t repeated = 0;
};

/// Applies `act` to a solver, with or without captures, and returns the result.
template <typename Act>
Trained Train(const SolverParameter& param, bool captures, Act act) {
  OpenSolver solver(param);
  solver.mutable_placement_extra()->optimizations.cuda_graphs = captures;
  ProgramData<float> data;
  data.Give(solver.net().get());
  act(&solver);
  return {TrainedState(&solver), solver.net()->planned()->repeated_operations()};
}

Trained Train(const SolverParameter& param, bool captures) {
  return Train(param, captures, [](OpenSolver* solver) { solver->Step(kIterations); });
}

/// With a learning rate that changes from step to step.
SolverParameter Changing(const NetParameter& net, const std::string& strategy) {
  SolverParameter param = SolverFor(net, strategy);
  param.set_lr_policy("inv");
  param.set_gamma(0.1f);
  param.set_power(0.75f);
  return param;
}

void ExpectTheSame(const Trained& with, const Trained& without) {
  EXPECT_TRUE(AllFinite(with.state));
  EXPECT_TRUE(SameBits(with.state, without.state));
  EXPECT_EQ(without.repeated, 0);
  if (!GpuRepeats()) {
    EXPECT_EQ(with.repeated, 0);
  }
}

class PlannedCaptures : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(PlannedCaptures, GiveTheSameBitsAsCallingTheLayers) {
  const auto& [net, strategy] = GetParam();
  const SolverParameter param = Changing(ReadNet(net), strategy);
  const Trained with = Train(param, true);
  ExpectTheSame(with, Train(param, false));
  if (GpuRepeats() && strategy == "keep") {
    EXPECT_GT(with.repeated, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryNet, PlannedCaptures,
                         ::testing::ValuesIn(layrub::testing::Pairs(
                             {"lenet", "mini_resnet", "mini_googlenet", "mini_alexnet",
                              "shared_weights", "mini_fcn", "recurrent", "types/activations",
                              "types/shapes", "types/fork_shapes", "types/losses",
                              "types/recurrent"},
                             {"keep", "liveness", "hybrid", "superneurons"})),
                         [](const auto& test) {
                           string name = std::get<0>(test.param) + "_" + std::get<1>(test.param);
                           for (char& c : name) c = c == '/' ? '_' : c;
                           return name;
                         });

TEST(PlannedCaptures, DependOnWhetherGradientsWereCleared) {
  SolverParameter param = Changing(ReadNet("mini_resnet"), "keep");
  param.set_iter_size(3);
  const Trained with = Train(param, true);
  ExpectTheSame(with, Train(param, false));
  const Trained of_one = Train(Changing(ReadNet("mini_resnet"), "keep"), true);
  // The first pass of an iteration overwrites the gradients, the others add to them.
  EXPECT_EQ(with.repeated > of_one.repeated, GpuRepeats());
}

TEST(PlannedCaptures, AreNotReplayedIfACallbackIsCalledBetweenLayers) {
  class Watcher : public Net<float>::Callback {
   public:
    int calls = 0;

   private:
    void run(int) override { ++calls; }
  };
  Watcher watcher;
  std::vector<int64_t> repeated;
  const auto act = [&](OpenSolver* solver) {
    solver->Step(3);
    repeated.push_back(solver->net()->planned()->repeated_operations());
    solver->net()->add_after_forward(&watcher);
    solver->Step(3);
    repeated.push_back(solver->net()->planned()->repeated_operations());
  };
  const SolverParameter param = Changing(ReadNet("lenet"), "keep");
  const Trained with = Train(param, true, act);
  ExpectTheSame(with, Train(param, false, act));
  EXPECT_LE(repeated[1], repeated[0]);  // 0 if it had to be planned again
  EXPECT_EQ(repeated[0] > 0, GpuRepeats());
  EXPECT_GT(watcher.calls, 0);
}

/// Halves the gradients of some layers right after their backward, and notes how many operations
/// have been replayed by then.
class Halver : public ParameterCallback<float> {
 public:
  Halver(Net<float>* net, std::vector<string> layers) : net_(net), layers_(std::move(layers)) {}
  bool Acts(int layer) const override {
    return std::count(layers_.begin(), layers_.end(), net_->layer_names()[layer]) > 0;
  }
  std::vector<int64_t> repeated;

 private:
  void run(int layer) override {
    if (!Acts(layer)) return;
    repeated.push_back(net_->planned()->repeated_operations());
    const DeviceContext context = DeviceContext::Current();
    for (const auto& blob : net_->layers()[layer]->blobs())
      kernels::Scale(context, blob->count(), 0.5f, MutableDiff(context, blob.get()));
  }

  Net<float>* const net_;
  const std::vector<string> layers_;
};

TEST(PlannedCaptures, AreReplayedBetweenLayersOfAParameterCallback) {
  // In the order of the backward. Accuracy and data have no backward; the scale is fused with its
  // neighbours; between the last three there are operations to replay.
  const std::vector<string> names = {"accuracy", "res4a/scale", "res2a", "conv1", "data"};
  for (const int iter_size : {1, 2}) {
    SolverParameter param = Changing(ReadNet("mini_resnet"), "keep");
    param.set_iter_size(iter_size);
    const int before = iter_size == 1 ? 0 : 4, passes = kIterations * iter_size;
    const auto train = [&](const std::vector<string>& layers, bool captures) {
      std::unique_ptr<Halver> halver;
      const Trained trained = Train(param, captures, [&](OpenSolver* solver) {
        solver->Step(before);
        halver = std::make_unique<Halver>(solver->net().get(), layers);
        solver->net()->add_after_backward(halver.get());
        solver->Step(kIterations);
      });
      const std::vector<int64_t>& repeated = halver->repeated;
      EXPECT_EQ(repeated.size(), static_cast<size_t>(passes) * layers.size());
      if (captures) {
        EXPECT_EQ(*(repeated.end() - 3) > *(repeated.end() - 4), GpuRepeats()) << "before res2a";
        EXPECT_EQ(*(repeated.end() - 2) > *(repeated.end() - 3), GpuRepeats()) << "before conv1";
      }
      return trained;
    };
    const Trained without = train(names, false);
    ExpectTheSame(train(names, true), without);
    EXPECT_FALSE(SameBits(without.state, train({}, false).state));
  }
}

TEST(PlannedCaptures, AreMadeAgainWhenSharedMemoryMoves) {
  // A test net that needs more than the training net moves the memory that both share.
  const auto act = [](OpenSolver* solver) {
    solver->Step(4);
    NetParameter larger = ReadNet("lenet");
    larger.mutable_state()->set_phase(TEST);
    for (LayerParameter& layer : *larger.mutable_layer()) {
      if (layer.has_dummy_data_param()) {
        for (BlobShape& shape : *layer.mutable_dummy_data_param()->mutable_shape())
          shape.set_dim(0, 200);
      }
    }
    Net<float> net(larger);
    PlacementOptions options = *solver->mutable_placement_extra();
    options.strategy = "keep";
    ASSERT_NE(options.executor.transient, nullptr);
    ASSERT_TRUE(net.Place(options).ok());
    net.Forward();
    solver->Step(4);
  };
  SolverParameter param = Changing(ReadNet("lenet"), "keep");
  const auto shared = [&act](OpenSolver* solver) {
    solver->mutable_placement_extra()->executor.transient =
        std::make_shared<layrub::TransientMemory>(MakeBackend(""));
    act(solver);
  };
  const Trained with = Train(param, true, shared);
  ExpectTheSame(with, Train(param, false, shared));
  EXPECT_EQ(with.repeated > 0, GpuRepeats());
}

/// Copies its bottom, and fails in one of its passes.
class FailingCopyLayer : public Layer<float> {
 public:
  explicit FailingCopyLayer(const LayerParameter& param) : Layer<float>(param) {}
  const char* type() const override { return "TestFailingCopy"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  MemoryTraits Traits(const vector<Blob<float>*>&, const vector<Blob<float>*>&,
                      const vector<bool>&) const override {
    MemoryTraits traits;
    traits.declared = traits.capturable = true;
    traits.forward.reads = {BottomData(0)};
    traits.forward.writes = {TopData(0)};
    OperandVariant backward;
    backward.name = "copy";
    backward.reads = {TopDiff(0)};
    backward.writes = {BottomDiff(0)};
    traits.backward = {backward};
    return traits;
  }
  static int asked, fails_at;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<float>*>& bottom,
                 const vector<Blob<float>*>& top) override {
    if (++asked == fails_at) throw std::runtime_error("the copy has failed");
    kernels::Copy(context, bottom[0]->count(), Data(context, *bottom[0]),
                  MutableData(context, top[0]));
  }
  void BackwardOn(const DeviceContext& context, const vector<Blob<float>*>& top,
                  const vector<bool>&, const vector<Blob<float>*>& bottom) override {
    kernels::Copy(context, top[0]->count(), Diff(context, *top[0]),
                  MutableDiff(context, bottom[0]));
  }
};
int FailingCopyLayer::asked = 0;
int FailingCopyLayer::fails_at = 0;
LayerRegisterer<float> register_failing("TestFailingCopy", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new FailingCopyLayer(param));
});

TEST(PlannedCaptures, SurviveAPassThatFails) {
  const NetParameter net = ParseNet(R"(
    layer { name: "data" type: "DummyData" top: "x" dummy_data_param {
            shape { dim: 4 dim: 6 } data_filler { type: "gaussian" } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param {
            num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "tanh" type: "TanH" bottom: "ip" top: "ip" }
    layer { name: "copy" type: "TestFailingCopy" bottom: "ip" top: "copy" }
    layer { name: "ip2" type: "InnerProduct" bottom: "copy" top: "ip2" inner_product_param {
            num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "Power" bottom: "ip2" top: "loss" loss_weight: 1
            power_param { power: 2 } }
  )");
  const auto train = [&](bool captures) {
    FailingCopyLayer::asked = 0;
    FailingCopyLayer::fails_at = 2;  // in the iteration that is captured
    return Train(Changing(net, "keep"), captures, [](OpenSolver* solver) {
      solver->Step(1);
      EXPECT_THROW(solver->Step(1), std::runtime_error);
      solver->Step(kIterations);
    });
  };
  const Trained with = train(true);
  EXPECT_EQ(FailingCopyLayer::asked, GpuRepeats() ? 4 : 2 + kIterations);
  ExpectTheSame(with, train(false));
  EXPECT_EQ(with.repeated > 0, GpuRepeats());
}

}  // namespace
}  // namespace caffe
