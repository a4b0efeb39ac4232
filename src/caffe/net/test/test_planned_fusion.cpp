// Operations next to each other run fused, channel by channel, with the bits of layers one by one.
#include "caffe/net/test/tight_training.hpp"
#include "caffe/net/test/watcher.hpp"
#include "caffe/util/threads.hpp"

namespace caffe {
namespace {

// Two residual blocks with everything that fuses, in place and not.
const char kBlocks[] = R"(
  layer { name: "in" type: "DummyData" top: "x" dummy_data_param { shape { dim: 3 dim: 5 dim: 7 dim: 9 }
          data_filler { type: "gaussian" } } }
  layer { name: "conv1" type: "Convolution" bottom: "x" top: "conv1"
          convolution_param { num_output: 6 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "conv1" top: "conv1" }
  layer { name: "scale1" type: "Scale" bottom: "conv1" top: "conv1" scale_param { bias_term: true } }
  layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
  layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
          convolution_param { num_output: 6 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn2" type: "BatchNorm" bottom: "conv2" top: "bn2" }
  layer { name: "scale2" type: "Scale" bottom: "bn2" top: "scale2" scale_param { bias_term: true } }
  layer { name: "sum" type: "Eltwise" bottom: "conv1" bottom: "scale2" top: "sum" }
  layer { name: "relu2" type: "ReLU" bottom: "sum" top: "relu2" }
  layer { name: "bias3" type: "Bias" bottom: "relu2" top: "bias3" }
  layer { name: "max3" type: "Eltwise" bottom: "bias3" bottom: "sum" top: "max3"
          eltwise_param { operation: MAX } }
  layer { name: "elu3" type: "ELU" bottom: "max3" top: "max3" }
  layer { name: "leaky3" type: "ReLU" bottom: "max3" top: "leaky3" relu_param { negative_slope: 0.1 } }
  layer { name: "ip" type: "InnerProduct" bottom: "leaky3" top: "ip"
          inner_product_param { num_output: 40 weight_filler { type: "xavier" } } }
  layer { name: "bn4" type: "BatchNorm" bottom: "ip" top: "ip" }
  layer { name: "scale4" type: "Scale" bottom: "ip" top: "ip" scale_param { bias_term: true } }
  layer { name: "sigmoid4" type: "Sigmoid" bottom: "ip" top: "ip" }
  layer { name: "relu5" type: "ReLU" bottom: "ip" top: "relu5" loss_weight: 0.5 }
  layer { name: "loss" type: "Power" bottom: "relu5" top: "loss" loss_weight: 1
          power_param { power: 2 shift: -1 } }
)";

#ifdef CPU_ONLY
constexpr bool kFuses = true;
#else
constexpr bool kFuses = false;  // nvcc wraps the bodies of loops
#endif
constexpr int kIterations = 4;

/// Layer by layer, on memory of their own: nothing but updates is fused.
std::vector<float> Unplanned() {
  OpenSolver solver(SolverFor(ParseNet(kBlocks)));
  return TrainUnplanned(&solver, kIterations);
}

std::vector<float> Planned(OpenSolver* solver) {
  solver->Step(kIterations);
  return TrainedState(solver);
}

class FusedOperations : public ::testing::TestWithParam<std::string> {};

TEST_P(FusedOperations, GiveTheBitsOfLayersOneByOne) {
  SetCpuThreads(2);  // fewer than there are channels
  OpenSolver solver(SolverFor(ParseNet(kBlocks), GetParam()));
  const std::vector<float> state = Planned(&solver);
  EXPECT_TRUE(AllFinite(state));
  EXPECT_TRUE(SameBits(state, Unplanned()));  // only now: a new solver seeds the random numbers
  EXPECT_EQ(solver.net()->planned()->fused_loops() > 0, kFuses);
}

TEST_P(FusedOperations, GiveThemUnderTheSmallestBudgetAndPoison) {
  const SolverParameter param = WithinSmallestBudget(SolverFor(ParseNet(kBlocks), GetParam()));
  for (const bool poison : {false, true}) {
    OpenSolver tight(param);
    tight.mutable_placement_extra()->executor.poison = poison;
    const std::vector<float> state = Planned(&tight);
    EXPECT_TRUE(SameBits(state, Unplanned())) << poison;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, FusedOperations,
                         ::testing::Values("keep", "liveness", "intra", "inter", "hybrid", "sqrt",
                                           "superneurons", "auto"));

TEST(FusedOperations, AreNoneWhereACallbackLooksAtBlobsBetweenThem) {
  OpenSolver planned(SolverFor(ParseNet(kBlocks), "keep"));
  Watcher of_planned(planned.net().get());
  planned.net()->add_after_forward(&of_planned);
  planned.Step(1);
  EXPECT_EQ(planned.net()->planned()->fused_loops(), 0);

  OpenSolver plain(SolverFor(ParseNet(kBlocks)));
  Watcher of_plain(plain.net().get());
  plain.net()->add_after_forward(&of_plain);
  plain.net()->Forward();
  ASSERT_EQ(of_plain.seen.size(), 4u);
  EXPECT_TRUE(SameBits(of_planned.seen, of_plain.seen));
}

TEST(FusedOperations, AreNoneWhereDebugInformationIsPrinted) {
  SolverParameter param = SolverFor(ParseNet(kBlocks), "keep");
  param.set_debug_info(true);
  param.set_display(1);
  OpenSolver solver(param);
  solver.Step(1);
  EXPECT_EQ(solver.net()->planned()->fused_loops(), 0);
}

/// A solver of a user, whose update reads what it needs as Caffe's own did.
class PlainStep : public SGDSolver<float> {
 public:
  using SGDSolver<float>::SGDSolver;

 protected:
  void ComputeUpdateValue(int param_id, float rate) override {
    Blob<float>* param = net_->learnable_params()[param_id];
    float* const step = param->mutable_cpu_diff();
    float* const history = history_[param_id]->mutable_cpu_data();
    const float local_rate = rate * net_->params_lr()[param_id];
    for (int i = 0; i < param->count(); ++i)
      step[i] = history[i] = 0.9f * history[i] + local_rate * step[i];
  }
};

TEST(FusedUpdates, LeaveRoomForAUsersOwn) {
  OpenSolver ours(SolverFor(ParseNet(kBlocks), "keep"));
  ours.Step(kIterations);
  PlainStep theirs(SolverFor(ParseNet(kBlocks), "keep"));
  theirs.Step(kIterations);
  for (size_t i = 0; i < ours.net()->learnable_params().size(); ++i) {
    const Blob<float>&a = *ours.net()->learnable_params()[i],
          &b = *theirs.net()->learnable_params()[i];
    EXPECT_TRUE(std::equal(a.cpu_data(), a.cpu_data() + a.count(), b.cpu_data())) << i;
  }
}

}  // namespace
}  // namespace caffe
