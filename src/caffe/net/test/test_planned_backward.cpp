// Partial backwards, and backwards from derivatives that the program writes, on the net of a
// solver. They work as without a plan if the plan keeps everything.
#include <algorithm>
#include <functional>
#include <tuple>

#include "caffe/test/expect_error.hpp"
#include "training.hpp"

namespace caffe {
namespace {

void AppendDiff(const Blob<float>& blob, vector<float>* values) {
  values->insert(values->end(), blob.cpu_diff(), blob.cpu_diff() + blob.count());
}

/// Returns the layers from which a backward may begin, except those with a loss.
vector<int> Beginnings(const Net<float>& net) {
  vector<int> layers;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    if (net.layer_need_backward()[i] && net.layers()[i]->loss(0) == 0)
      layers.push_back(static_cast<int>(i));
  }
  return layers;
}

void WriteDerivatives(int seed, const vector<Blob<float>*>& blobs) {
  for (Blob<float>* blob : blobs) {
    float* const diff = blob->mutable_cpu_diff();
    for (int i = 0; i < blob->count(); ++i)
      diff[i] = static_cast<float>((i * 7 + seed * 5) % 11 - 5) / 50;
  }
}

/// Trains several rounds and returns the result. In each round the program runs a backward from
/// some layer and updates with its gradients. `step` trains one iteration.
vector<float> Rounds(OpenSolver* solver, const std::function<void()>& step) {
  Net<float>& net = *solver->net();
  const vector<int> beginnings = Beginnings(net);
  vector<float> values;
  for (size_t round = 0; round < 4; ++round) {
    step();
    const int from = beginnings[(beginnings.size() - 1) * round / 3];
    net.ClearParamDiffs();
    net.Forward();
    // Sets derivatives of all blobs: where branches meet, those of layers above count, too.
    for (const int layer : beginnings)
      WriteDerivatives(static_cast<int>(round) + layer, net.top_vecs()[layer]);
    net.BackwardFrom(from);
    if (round == 2) {  // again, from a higher layer, in two parts
      const int above = beginnings.back(), middle = beginnings[beginnings.size() / 2];
      WriteDerivatives(1, net.top_vecs()[above]);
      net.BackwardFromTo(above, middle);
      net.BackwardFrom(middle - 1);
    }
    for (const Blob<float>* param : net.learnable_params()) AppendDiff(*param, &values);
    for (const Blob<float>* bottom : net.bottom_vecs()[from]) AppendDiff(*bottom, &values);
    solver->ApplyUpdate();
    // Without a plan, the next backward would read derivatives that no layer overwrites.
    for (const int layer : beginnings) {
      for (Blob<float>* top : net.top_vecs()[layer])
        caffe_set(top->count(), 0.0f, top->mutable_cpu_diff());
    }
  }
  step();
  const vector<float> state = TrainedState(solver);
  values.insert(values.end(), state.begin(), state.end());
  return values;
}

class PlannedBackward : public ::testing::TestWithParam<std::tuple<string, string>> {
 protected:
  NetParameter TheNet() const { return ReadNet(std::get<0>(GetParam())); }
  string Strategy() const { return std::get<1>(GetParam()); }
};

TEST_P(PlannedBackward, FromALayerGivesTheSameBitsAsUnplanned) {
  OpenSolver plain(SolverFor(TheNet()));
  const vector<float> expected = Rounds(&plain, [&] { TrainUnplanned(&plain, 1); });
  OpenSolver planned(SolverFor(TheNet(), Strategy()));
  const vector<float> found = Rounds(&planned, [&] {
    planned.Step(1);
    EXPECT_NE(planned.net()->planned(), nullptr);
  });
  EXPECT_TRUE(AllFinite(expected));
  EXPECT_TRUE(SameBits(found, expected));
}

INSTANTIATE_TEST_SUITE_P(Nets, PlannedBackward,
                         ::testing::Combine(::testing::ValuesIn(SmallNets()),
                                            ::testing::Values("", "keep")),
                         [](const auto& test) {
                           const string strategy = std::get<1>(test.param);
                           return std::get<0>(test.param) + "_" +
                                  (strategy.empty() ? "default" : strategy);
                         });

/// "aside" is read by a layer that has no gradient for it.
const char kAside[] = R"(
  force_backward: true
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
  layer { name: "a" type: "InnerProduct" bottom: "data" top: "a"
          inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
  layer { name: "relu" type: "ReLU" bottom: "a" top: "a" }
  layer { name: "aside" type: "InnerProduct" bottom: "a" top: "aside"
          inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "p" type: "InnerProduct" bottom: "a" top: "p"
          inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SigmoidCrossEntropyLoss" bottom: "p" bottom: "aside" top: "loss"
          propagate_down: true propagate_down: false }
  layer { name: "q" type: "InnerProduct" bottom: "a" top: "q"
          inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
)";

/// Whole backwards from derivatives of an output and of an inner blob.
vector<float> WholeBackwards(OpenSolver* solver, const std::function<void()>& step) {
  Net<float>& net = *solver->net();
  for (int i = 0; i < 6; ++i) net.blob_by_name("data")->mutable_cpu_data()[i] = 0.25f * (i - 2);
  vector<float> values;
  for (int round = 0; round < 3; ++round) {
    step();
    net.ClearParamDiffs();
    net.Forward();
    WriteDerivatives(round, {net.blob_by_name("q").get()});
    if (round > 0) WriteDerivatives(round, {net.blob_by_name("aside").get()});
    net.Backward();
    for (const Blob<float>* param : net.learnable_params()) AppendDiff(*param, &values);
    AppendDiff(*net.blob_by_name("data"), &values);
    solver->ApplyUpdate();
    for (const string blob : {"q", "aside"})  // no layer overwrites it
      caffe_set(net.blob_by_name(blob)->count(), 0.0f, net.blob_by_name(blob)->mutable_cpu_diff());
  }
  return values;
}

TEST(PlannedBackwards, UseDerivativesWrittenByTheProgram) {
  OpenSolver plain(SolverFor(ParseNet(kAside)));
  const vector<float> expected = WholeBackwards(&plain, [&] { TrainUnplanned(&plain, 1); });
  for (const string strategy : {"", "keep"}) {
    OpenSolver planned(SolverFor(ParseNet(kAside), strategy));
    EXPECT_TRUE(SameBits(WholeBackwards(&planned, [&] { planned.Step(1); }), expected)) << strategy;
  }
}

/// Nets inside layers, of one step: their Slice and Concat are views.
const char kOneStep[] = R"(
  layer { name: "data" type: "DummyData" top: "x" top: "cont" top: "h0" top: "c0" dummy_data_param {
            shape { dim: 1 dim: 2 dim: 3 } shape { dim: 1 dim: 2 } shape { dim: 1 dim: 2 dim: 4 }
            shape { dim: 1 dim: 2 dim: 4 } data_filler { type: "gaussian" } data_filler { value: 1 }
            data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
  layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
          inner_product_param { num_output: 4 axis: 2 weight_filler { type: "xavier" } } }
  layer { name: "given" type: "LSTM" bottom: "y" bottom: "cont" bottom: "h0" bottom: "c0" top: "z"
          top: "h" top: "c" recurrent_param { num_output: 4 expose_hidden: true
                                              weight_filler { type: "xavier" } } }
  layer { name: "kept" type: "LSTM" bottom: "z" bottom: "cont" top: "lstm"
          recurrent_param { num_output: 4 weight_filler { type: "xavier" } } }
  layer { name: "rnn" type: "RNN" bottom: "lstm" bottom: "cont" top: "rnn"
          recurrent_param { num_output: 4 weight_filler { type: "xavier" } } }
  layer { name: "sum" type: "Eltwise" bottom: "rnn" bottom: "h" bottom: "c" top: "sum" }
  layer { name: "loss" type: "Reduction" bottom: "sum" top: "loss" loss_weight: 1
          reduction_param { operation: SUMSQ } }
)";

TEST(PlannedBackwards, OfInnerNetsGiveTheSameBitsAsUnplanned) {
  OpenSolver plain(SolverFor(ParseNet(kOneStep)));
  const vector<float> expected = Rounds(&plain, [&] { TrainUnplanned(&plain, 1); });
  EXPECT_TRUE(AllFinite(expected));
  for (const string strategy : {"", "keep"}) {
    OpenSolver planned(SolverFor(ParseNet(kOneStep), strategy));
    EXPECT_TRUE(SameBits(Rounds(&planned, [&] { planned.Step(1); }), expected)) << strategy;
  }
}

TEST(PlannedBackwards, PartialAreRefusedIfThePlanDropsValues) {
  for (const string net : {"lenet", "recurrent"}) {
    OpenSolver solver(SolverFor(ReadNet(net), "hybrid"));
    solver.Step(1);
    solver.net()->Forward();
    EXPECT_ERROR(solver.net()->BackwardFrom(3), "only where the plan keeps every blob");
  }
}

TEST(PlannedBackwards, PartialNeedDerivatives) {
  OpenSolver solver(SolverFor(ReadNet("lenet"), "keep"));
  solver.Step(1);
  solver.net()->Forward();
  EXPECT_ERROR(solver.net()->BackwardFrom(3), "write the derivatives of its tops before");
}

TEST(PlannedBackwards, PartialNeedTheParametersOfTheForward) {
  OpenSolver solver(SolverFor(ReadNet("lenet"), "keep"));
  solver.Step(1);
  EXPECT_ERROR(solver.net()->BackwardFrom(3), "needs a forward just before it");
}

}  // namespace
}  // namespace caffe
