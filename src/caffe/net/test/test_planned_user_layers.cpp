// Users' layers, which do with their operands what Caffe allows, learn the same under every
// strategy as without a plan.
#include "caffe/net/test/training.hpp"
#include "caffe/net/test/user_layers.hpp"
#include "caffe/net/test/user_sharing_layers.hpp"

namespace caffe {
namespace {

template <typename L>
shared_ptr<Layer<float>> Make(const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new L(param));
}
#define REGISTER_USER_LAYER(type) LayerRegisterer<float> register_##type(#type, Make<type##Layer>)
REGISTER_USER_LAYER(UserAbs);
REGISTER_USER_LAYER(UserSlope);
REGISTER_USER_LAYER(UserDistanceLoss);
REGISTER_USER_LAYER(UserMean);
REGISTER_USER_LAYER(UserPyramid);
REGISTER_USER_LAYER(UserFilter);
REGISTER_USER_LAYER(UserReindex);
REGISTER_USER_LAYER(UserSoftmaxLoss);
REGISTER_USER_LAYER(UserPenalty);
REGISTER_USER_LAYER(UserClip);
REGISTER_USER_LAYER(UserParameter);
REGISTER_USER_LAYER(UserParameterOnce);
REGISTER_USER_LAYER(UserViewAtReshape);
REGISTER_USER_LAYER(UserViewAtSetUp);
REGISTER_USER_LAYER(UserViewAtForward);
REGISTER_USER_LAYER(UserMetric);
REGISTER_USER_LAYER(UserKeeper);
REGISTER_USER_LAYER(UserLateKeeper);
REGISTER_USER_LAYER(UserMirror);

const char kBefore[] = R"(
  layer { name: "data" type: "DummyData" top: "data" top: "label"
          dummy_data_param { shape { dim: 8 dim: 6 } shape { dim: 8 }
                             data_filler { type: "gaussian" std: 1 } data_filler { value: 1 } } }
  layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
          inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
)";

string Ip(const string& name, const string& bottom, int outputs) {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" +
         name + "' inner_product_param { num_output: " + std::to_string(outputs) +
         " weight_filler { type: 'xavier' } } }";
}
string OneToOne(const string& type, const string& bottom, const string& top) {
  return "layer { name: '" + type + "_" + bottom + "_" + top + "' type: '" + type + "' bottom: '" +
         bottom + "' top: '" + top + "' }";
}
string Loss(const string& bottom, const string& type = "SoftmaxWithLoss") {
  return "layer { name: 'loss' type: '" + type + "' bottom: '" + bottom +
         "' bottom: 'label' top: 'loss' }";
}

/// A net with `layers` between ip1 and a loss on their blob "out".
NetParameter Between(const string& layers) {
  return ParseNet(kBefore + layers + Ip("ip2", "out", 4) + Loss("ip2"));
}

void TrainWithout(OpenSolver* solver, int iterations) {
  for (int i = 0; i < iterations; ++i) {
    solver->net()->ClearParamDiffs();
    solver->net()->ForwardBackward();
    solver->ApplyUpdate();
  }
}

class UserLayers : public ::testing::TestWithParam<string> {
 protected:
  static void ExpectTheBitsOfUnplannedTraining(const NetParameter& net, int iterations = 4) {
    OpenSolver planned(SolverFor(net, GetParam()));
    planned.mutable_placement_extra()->padding = 512;
    planned.mutable_placement_extra()->executor.poison = true;
    planned.Step(iterations);
    OpenSolver unplanned(SolverFor(net));
    TrainWithout(&unplanned, iterations);
    const vector<float> state = TrainedState(&unplanned);
    EXPECT_TRUE(AllFinite(state));
    EXPECT_TRUE(SameBits(TrainedState(&planned), state)) << net.layer(2).DebugString();
    const PlannedNet<float>* plan = planned.net()->planned();
    EXPECT_TRUE(plan == nullptr || planned.net()->planned()->executor().SentinelsIntact());
  }
};

TEST_P(UserLayers, ReadAndWriteWhatTheyAreGiven) {
  for (const char* type : {"UserAbs", "UserSlope", "UserMean", "UserPyramid", "UserPenalty"}) {
    ExpectTheBitsOfUnplannedTraining(
        Between(OneToOne(type, "ip1", "a") + OneToOne("TanH", "a", "a") + OneToOne(type, "a", "b") +
                Ip("ip_b", "b", 7) + OneToOne(type, "data", "d") + Ip("ip_d", "d", 7) + R"(
    layer { name: "sum" type: "Eltwise" bottom: "ip_b" bottom: "ip_d" top: "out" })"));
  }
}

TEST_P(UserLayers, MayRunInPlaceWithTheirOwnCopy) {
  ExpectTheBitsOfUnplannedTraining(Between(Ip("out", "ip1", 5) + OneToOne("ReLU", "out", "out") +
                                           OneToOne("UserSlope", "out", "out")));
}

TEST_P(UserLayers, MayBeLosses) {
  ExpectTheBitsOfUnplannedTraining(
      ParseNet(kBefore + Ip("ip2", "ip1", 4) + Loss("ip2", "UserSoftmaxLoss")));
  ExpectTheBitsOfUnplannedTraining(ParseNet(kBefore + Ip("a", "ip1", 4) + Ip("b", "data", 4) + R"(
    layer { name: "loss" type: "UserDistanceLoss" bottom: "a" bottom: "b" top: "loss" })"));
}

TEST_P(UserLayers, MayTakeRowsByIndex) {
  ExpectTheBitsOfUnplannedTraining(Between(R"(
    layer { name: "reindex" type: "UserReindex" bottom: "ip1" bottom: "label" top: "out" })"));
}

TEST_P(UserLayers, MayReshapeTheirTopsInForward) {
  const string filter = R"(
    layer { name: "select" type: "DummyData" top: "select"
            dummy_data_param { shape { dim: 8 } data_filler { type: "gaussian" std: 1 } } }
    layer { name: "filter" type: "UserFilter" bottom: "tanh" bottom: "select" top: "out" })";
  string below;
  for (int i = 1; i < 5; ++i) {
    const string ip = "ip1" + string(i, 'x'), from = ip.substr(0, ip.size() - 1);
    below += OneToOne("ReLU", from, from + "_") + OneToOne("TanH", from + "_", from + "y") +
             Ip(ip, from + "y", 7);
  }
  below += OneToOne("TanH", "ip1xxxx", "tanh");
  ExpectTheBitsOfUnplannedTraining(
      ParseNet(kBefore + below + filter + Ip("a", "out", 3) + Ip("b", "out", 3) + R"(
    layer { name: "loss" type: "EuclideanLoss" bottom: "a" bottom: "b" top: "loss" })"));
}

TEST_P(UserLayers, MayWriteTheDataOfTheirBottomAndTopInBothPasses) {
  for (const char* before : {"ReLU", "TanH", "Sigmoid"}) {
    ExpectTheBitsOfUnplannedTraining(Between(
        OneToOne(before, "ip1", "a") + Ip("first", "a", 7) + OneToOne("UserClip", "a", "b") +
        Ip("third", "a", 7) + OneToOne("UserClip", "data", "c") + Ip("fourth", "c", 7) + R"(
    layer { name: "sum" type: "Eltwise" bottom: "first" bottom: "b" bottom: "third"
            bottom: "fourth" top: "out" })"));
    ExpectTheBitsOfUnplannedTraining(
        Between(OneToOne(before, "ip1", "ip1") + OneToOne("UserClip", "ip1", "out")));
  }
}

TEST_P(UserLayers, MayHaveTheirParameterAsATop) {
  for (const char* type : {"UserParameter", "UserParameterOnce"}) {
    for (const char* in_between : {"", "Split", "Flatten"}) {
      string layers = string("layer { name: 'source' type: '") + type + "' top: 'own' }";
      string used = "own";
      if (*in_between) layers += OneToOne(in_between, used, "own2");
      if (*in_between) used = "own2";
      layers += Ip("ip_own", used, 7) + Ip("ip_again", used, 7) + R"(
    layer { name: "sum" type: "Eltwise" bottom: "ip_own" bottom: "ip1" bottom: "ip_again" top: "out" })";
      ExpectTheBitsOfUnplannedTraining(Between(layers));
    }
  }
}

TEST_P(UserLayers, LearnAParameterThatIsATop) {
  NetParameter net = Between(R"(
    layer { name: "source" type: "UserParameter" top: "own" }
    layer { name: "ip_own" type: "InnerProduct" bottom: "own" top: "ip_own"
            inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
    layer { name: "sum" type: "Eltwise" bottom: "ip_own" bottom: "ip1" top: "out" })");
  OpenSolver solver(SolverFor(net, GetParam()));
  const Blob<float>& parameter = *solver.net()->layer_by_name("source")->blobs()[0];
  const float before = parameter.cpu_data()[3];
  solver.Step(2);
  EXPECT_NE(parameter.cpu_data()[3], before);
}

TEST_P(UserLayers, MayShareTheMemoryOfTheirBottomOnce) {
  for (const char* type : {"UserViewAtReshape", "UserViewAtSetUp", "UserViewAtForward"}) {
    ExpectTheBitsOfUnplannedTraining(Between(
        OneToOne(type, "ip1", "a") + OneToOne("TanH", "a", "b") + OneToOne(type, "b", "out")));
  }
}

/// Without a plan, the memory that the first layer's backward reads has been overwritten by then.
TEST_P(UserLayers, MayShareMemoryThatALaterLayerOverwrites) {
  for (const char* type : {"UserViewAtReshape", "UserViewAtForward"}) {
    for (const char* below : {"BatchNorm", "ReLU", "TanH"}) {
      ExpectTheBitsOfUnplannedTraining(Between(OneToOne(below, "ip1", "a") +
                                               OneToOne(type, "a", "out") +
                                               OneToOne("Sigmoid", "out", "out")));
    }
  }
}

TEST_P(UserLayers, MayLeaveValuesInADerivativeThatNoLayerComputes) {
  ExpectTheBitsOfUnplannedTraining(Between(OneToOne("TanH", "ip1", "out") + R"(
    layer { name: "metric" type: "UserMetric" bottom: "out" top: "metric" })"));
}

TEST_P(UserLayers, MayKeepTheirOperands) {
  for (const char* type : {"UserKeeper", "UserLateKeeper", "UserMirror"}) {
    ExpectTheBitsOfUnplannedTraining(Between(OneToOne("TanH", "ip1", "a") +
                                             OneToOne(type, "a", "b") + OneToOne("ReLU", "b", "b") +
                                             OneToOne(type, "b", "out")));
  }
}

/// Plans again: from measured times, and for other shapes of the input.
TEST_P(UserLayers, MayKeepTheirOperandsFromPlanToPlan) {
  for (const char* type : {"UserKeeper", "UserLateKeeper"}) {
    const string layers = Ip("ip1", "x", 5) + OneToOne("TanH", "ip1", "a") +
                          OneToOne(type, "a", "b") + Ip("ip2", "b", 3) + R"(
    layer { name: "norm" type: "EuclideanLoss" bottom: "ip2" bottom: "y" top: "loss" })";
    const NetParameter param = ParseNet(
        "layer { name: 'x' type: 'Input' top: 'x' top: 'y' input_param { shape { dim: 4 dim: 6 } "
        "shape { dim: 4 dim: 3 } } }" +
        layers);
    OpenSolver planned(SolverFor(param, GetParam())), unplanned(SolverFor(param));
    planned.mutable_placement_extra()->executor.poison = true;
    planned.mutable_placement_extra()->measure = true;
    for (int step = 0; step < 9; ++step) {
      for (OpenSolver* solver : {&planned, &unplanned}) {
        Net<float>& net = *solver->net();
        const int rows = step == 7 ? 6 : step == 8 ? 3 : 4;
        for (Blob<float>* input : net.input_blobs()) {
          vector<int> shape = input->shape();
          shape[0] = rows;
          input->Reshape(shape);
          for (int i = 0; i < input->count(); ++i)
            input->mutable_cpu_data()[i] = static_cast<float>((i * 7 + step) % 11) / 11;
        }
      }
      planned.Step(1);
      TrainWithout(&unplanned, 1);
      ASSERT_TRUE(SameBits(TrainedState(&planned), TrainedState(&unplanned))) << type << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, UserLayers, ::testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace caffe
