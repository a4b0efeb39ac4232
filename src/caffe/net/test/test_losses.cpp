// How a net reports its loss, and labels that are no class, when a whole pass is queued.
#include <string>
#include <vector>

#include "caffe/net/test/training.hpp"

namespace caffe {
namespace {

/// The strategy, or "" for no plan.
class Losses : public ::testing::TestWithParam<std::string> {
 protected:
  SolverParameter Solver(const NetParameter& net) const { return SolverFor(net, GetParam()); }
};

/// A net with scores of three classes for four inputs, followed by `layers`.
NetParameter Classifier(const std::string& layers) {
  return ParseNet(R"(
    layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 4 dim: 5 } } }
    layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 4 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } })" +
                  layers);
}

void Give(Net<float>* net, float last_label) {
  Blob<float>& x = *net->blob_by_name("x");
  for (int i = 0; i < x.count(); ++i) x.mutable_cpu_data()[i] = static_cast<float>(i % 7) - 3;
  float* const labels = net->blob_by_name("label")->mutable_cpu_data();
  for (int i = 0; i < 4; ++i) labels[i] = i < 3 ? static_cast<float>(i) : last_label;
}

const char kThreeLosses[] = R"(
  layer { name: "split" type: "Split" bottom: "ip" top: "a" top: "b" top: "c" }
  layer { name: "softmax" type: "SoftmaxWithLoss" bottom: "a" bottom: "label" top: "softmax"
          loss_weight: 0.3 }
  layer { name: "sum" type: "Reduction" bottom: "b" top: "sum" loss_weight: 2 }
  layer { name: "power" type: "Power" bottom: "c" top: "power" loss_weight: -0.25
          power_param { power: 2 } })";

TEST_P(Losses, AreTheSameWithABackward) {
  OpenSolver solver(Solver(Classifier(kThreeLosses)));
  Net<float>& net = *solver.net();
  Give(&net, 1);
  solver.Step(1);
  float forward = 0;
  net.Forward(&forward);
  EXPECT_EQ(net.ForwardBackward(), forward);
  EXPECT_EQ(net.ForwardFromTo(0, static_cast<int>(net.layers().size()) - 1), forward);
  const auto value = [&](const char* name, int i) { return net.blob_by_name(name)->cpu_data()[i]; };
  double sum = 0.3 * value("softmax", 0) + 2 * value("sum", 0);
  for (int i = 0; i < 12; ++i) sum -= 0.25 * value("power", i);
  EXPECT_NEAR(forward, sum, 1e-5 * std::abs(sum));
}

TEST_P(Losses, ReportLabelsThatAreNoClassAndUpdateNothing) {
  for (const std::string layer : {"SoftmaxWithLoss", "MultinomialLogisticLoss", "HingeLoss"}) {
    NetParameter param = Classifier("layer { name: 'loss' type: '" + layer +
                                    "' bottom: 'ip' bottom: 'label' top: 'loss' }");
    param.mutable_layer(3)->set_origin("net.prototxt:12");
    OpenSolver solver(Solver(param));
    Net<float>& net = *solver.net();
    Give(&net, 1);
    solver.Step(3);  // by now captured work is replayed
    const std::vector<float> before = TrainedState(&solver);
    Give(&net, 3);
    std::string said;
    {
      const ThrowOnError throws;
      try {
        solver.Step(1);
      } catch (const Error& error) {
        said = error.what();
      }
    }
    EXPECT_NE(said.find("Layer loss: 1 of 4 labels are not class numbers in 0..2: 3."),
              string::npos)
        << layer << ": " << said;
    EXPECT_NE(said.find("net.prototxt:12"), string::npos) << layer << ": " << said;
    EXPECT_TRUE(SameBits(TrainedState(&solver), before)) << layer << ": nothing was learned";
    Give(&net, 1);
    const int iteration = solver.iter();
    solver.Step(2);
    EXPECT_EQ(solver.iter(), iteration + 2) << layer << ": the training goes on";
    EXPECT_TRUE(AllFinite(TrainedState(&solver))) << layer;
  }
}

TEST_P(Losses, AccuracyChecksItsLabelsWithoutALoss) {
  OpenSolver solver(Solver(Classifier(R"(
    layer { name: "sum" type: "Reduction" bottom: "ip" top: "sum" loss_weight: 1 }
    layer { name: "right" type: "Accuracy" bottom: "ip" bottom: "label" top: "right" })")));
  Give(solver.net().get(), -1);
  const ThrowOnError throws;
  try {
    solver.Step(1);
    ADD_FAILURE() << "-1 is no class";
  } catch (const Error& error) {
    EXPECT_NE(string(error.what()).find("Layer right: 1 of 4 labels are not class"), string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(EveryWay, Losses, ::testing::Values("", "keep", "hybrid", "vdnn_all"),
                         [](const auto& test) {
                           return test.param.empty() ? string("unplanned") : test.param;
                         });

}  // namespace
}  // namespace caffe
