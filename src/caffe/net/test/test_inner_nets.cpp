// Layers that contain nets: how plans, callbacks and weights treat the layers inside.
#include <algorithm>
#include <set>

#include "caffe/net/test/training.hpp"

namespace caffe {
namespace {

const char kNet[] = R"(
  name: "net"
  layer { name: "in" type: "Input" top: "x" top: "cont"
          input_param { shape { dim: 5 dim: 3 dim: 4 } shape { dim: 5 dim: 3 } } }
  layer { name: "lstm" type: "LSTM" bottom: "x" bottom: "cont" top: "y"
          recurrent_param { num_output: 6 weight_filler { type: "xavier" } } }
  layer { name: "relu" type: "ReLU" bottom: "y" top: "y" }
  layer { name: "rnn" type: "RNN" bottom: "y" bottom: "cont" top: "z"
          recurrent_param { num_output: 2 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "TanH" bottom: "z" top: "loss" loss_weight: 1 }
)";

void Fill(Net<float>* net, float first) {
  Blob<float>* x = net->input_blobs()[0];
  for (int i = 0; i < x->count(); ++i)
    x->mutable_cpu_data()[i] = first + static_cast<float>(i % 13 - 6) / 5;
  Blob<float>* cont = net->input_blobs()[1];
  for (int i = 0; i < cont->count(); ++i) cont->mutable_cpu_data()[i] = i % 7 != 3;
}

float Pass(Net<float>* net, float first) {
  Fill(net, first);
  net->ClearParamDiffs();
  return net->ForwardBackward();
}

vector<float> Gradients(const Net<float>& net) {
  vector<float> values;
  for (const Blob<float>* param : net.learnable_params())
    values.insert(values.end(), param->cpu_diff(), param->cpu_diff() + param->count());
  return values;
}

vector<float> Output(const Net<float>& net) {
  const Blob<float>& blob = *net.output_blobs()[0];
  return {blob.cpu_data(), blob.cpu_data() + blob.count()};
}

/// Zeroes the declared state of layers: parameters of inner nets that are not among the layer's.
void ResetStates(const Net<float>& net) {
  int states = 0;
  for (const auto& layer : net.layers()) {
    const Net<float>* inner = layer->inner_net().net;
    if (!inner) continue;
    std::set<const SyncedMemory*> own;
    for (const auto& blob : layer->blobs()) own.insert(blob->data().get());
    for (Blob<float>* param : inner->learnable_params()) {
      if (own.count(param->data().get())) continue;
      caffe_set(param->count(), 0.f, param->mutable_cpu_data());
      ++states;
    }
  }
  EXPECT_EQ(states, 3);  // h and c of the LSTM, h of the RNN
}

std::set<string> OpNames(const layrub::Graph& graph) {
  std::set<string> names;
  for (const layrub::Op& op : graph.ops) names.insert(op.name);
  return names;
}

bool HasTensor(const layrub::Graph& graph, const string& name) {
  return std::any_of(graph.tensors.begin(), graph.tensors.end(),
                     [&](const layrub::Tensor& tensor) { return tensor.name == name; });
}

PlacementOptions Options(const string& strategy) {
  PlacementOptions options;
  options.strategy = strategy;
  return options;
}

TEST(InnerNets, AreOperationsOfTheGraph) {
  const layrub::Graph graph = Net<float>(ParseNet(kNet)).MemoryGraph(1);
  const std::set<string> ops = OpNames(graph);
  for (const char* name : {"lstm/unit_1/forward", "lstm/unit_5/backward",
                           "lstm/x_transform/backward", "lstm/states/forward",
                           "lstm/states_end/forward", "rnn/h_neuron_3/forward", "lstm[2]/update"})
    EXPECT_TRUE(ops.count(name)) << name;
  for (const char* name :
       {"lstm/forward", "lstm/backward", "lstm/inputs/forward", "lstm/states/backward"})
    EXPECT_FALSE(ops.count(name)) << name;
  EXPECT_TRUE(HasTensor(graph, "lstm/states[0]"));
  EXPECT_TRUE(HasTensor(graph, "lstm[0].grad"));
  // The outer and the inner net have the same tensor for it.
  EXPECT_TRUE(HasTensor(graph, "y"));
  EXPECT_FALSE(HasTensor(graph, "lstm/h"));
}

TEST(InnerNets, NameLayersAfterTheOuterLayer) {
  const Net<float> net(ParseNet(kNet));
  const vector<string>& names = net.layer_by_name("lstm")->inner_net().net->layer_names();
  for (const char* name : {"lstm_unit_1", "lstm_x_transform", "lstm_h_concat"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
}

TEST(InnerNets, ComputeNoUnneededGradients) {
  NetParameter param = ParseNet(kNet);
  const layrub::Graph graph = Net<float>(param).MemoryGraph(1);
  for (const char* name : {"x.grad", "cont.grad", "lstm/h_0.grad", "lstm/c_0.grad"})
    EXPECT_FALSE(HasTensor(graph, name)) << name;
  EXPECT_TRUE(HasTensor(graph, "lstm[0].grad"));
  for (int i = 0; i < 3; ++i) param.mutable_layer(1)->add_param()->set_lr_mult(0);
  const layrub::Graph frozen = Net<float>(param).MemoryGraph(1);
  for (const char* name : {"lstm[0].grad", "lstm[2].grad", "lstm/gate_input_2.grad"})
    EXPECT_FALSE(HasTensor(frozen, name)) << name;
  EXPECT_TRUE(HasTensor(frozen, "rnn[0].grad"));
}

TEST(InnerNets, GiveTheGradientsOfAllTheirInputs) {
  const NetParameter param = ParseNet(R"(
    force_backward: true
    layer { name: "in" type: "Input" top: "x" top: "cont" top: "static" top: "h" top: "c"
            input_param { shape { dim: 5 dim: 3 dim: 4 } shape { dim: 5 dim: 3 } shape { dim: 3 dim: 2 }
                          shape { dim: 1 dim: 3 dim: 6 } shape { dim: 1 dim: 3 dim: 6 } } }
    layer { name: "lstm" type: "LSTM" bottom: "x" bottom: "cont" bottom: "static" bottom: "h" bottom: "c"
            top: "y" top: "h_last" top: "c_last"
            recurrent_param { num_output: 6 expose_hidden: true weight_filler { type: "xavier" } } }
    layer { name: "all" type: "Concat" bottom: "y" bottom: "h_last" bottom: "c_last" top: "all"
            concat_param { axis: 0 } }
    layer { name: "loss" type: "TanH" bottom: "all" top: "loss" loss_weight: 1 }
  )");
  Net<float> plain(param), planned(param);
  planned.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(planned.Place(Options("keep")).ok());
  vector<float> gradients[2];
  for (Net<float>* net : {&plain, &planned}) {
    Pass(net, 0.5f);
    for (int i : {0, 2, 3, 4}) {
      const Blob<float>& input = *net->input_blobs()[i];
      EXPECT_GT(input.asum_diff(), 0) << i;
      vector<float>& all = gradients[net == &planned];
      all.insert(all.end(), input.cpu_diff(), input.cpu_diff() + input.count());
    }
  }
  EXPECT_TRUE(SameBits(gradients[1], gradients[0]));
}

class InnerNetsUnder : public ::testing::TestWithParam<string> {
 protected:
  void SetUp() override {
    planned_.ShareTrainedLayersWith(&plain_);
    ASSERT_TRUE(planned_.Place(Options(GetParam())).ok());
  }
  void ExpectSamePass(float first) {
    const float expected = Pass(&plain_, first);
    EXPECT_EQ(Pass(&planned_, first), expected);
    EXPECT_TRUE(SameBits(Gradients(planned_), Gradients(plain_)));
    EXPECT_TRUE(SameBits(Output(planned_), Output(plain_)));
  }

  Net<float> plain_{ParseNet(kNet)};
  Net<float> planned_{ParseNet(kNet)};
};

TEST_P(InnerNetsUnder, CarryTheirStateAndResetIt) {
  for (float first : {0.f, 1.f, 1.f}) ExpectSamePass(first);
  const float warm = Pass(&planned_, 0);
  for (Net<float>* net : {&plain_, &planned_}) ResetStates(*net);
  EXPECT_NE(Pass(&planned_, 0), warm);
  Pass(&plain_, 0);
  ExpectSamePass(1);
}

TEST_P(InnerNetsUnder, CarryTheirStateIntoAndOutOfThePlan) {
  ExpectSamePass(0);
  // A partial pass leaves the plan.
  for (Net<float>* net : {&plain_, &planned_}) {
    Fill(net, 1);
    net->ForwardFromTo(0, static_cast<int>(net->layers().size()) - 1);
    net->ClearParamDiffs();
    net->Backward();
  }
  EXPECT_EQ(planned_.planned(), nullptr);
  EXPECT_TRUE(SameBits(Gradients(planned_), Gradients(plain_)));
  ExpectSamePass(2);
  EXPECT_NE(planned_.planned(), nullptr);
}

TEST_P(InnerNetsUnder, TakeAnotherNumberOfStreams) {
  ExpectSamePass(0);
  for (int streams : {4, 2, 3}) {
    for (Net<float>* net : {&plain_, &planned_}) {
      net->input_blobs()[0]->Reshape({5, streams, 4});
      net->input_blobs()[1]->Reshape({5, streams});
    }
    ExpectSamePass(1);
    ExpectSamePass(2);
  }
}

struct Counter : Net<float>::Callback {
  explicit Counter(vector<int>* calls) : calls(calls) {}
  void run(int layer) override { calls->push_back(layer); }
  vector<int>* calls;
};

TEST_P(InnerNetsUnder, AreOneLayerForCallbacks) {
  vector<int> calls[2];
  int i = 0;
  for (Net<float>* net : {&plain_, &planned_}) {
    Counter counter(&calls[i++]);
    net->add_before_forward(&counter);
    net->add_after_forward(&counter);
    net->add_before_backward(&counter);
    net->add_after_backward(&counter);
    Pass(net, 0);
  }
  EXPECT_EQ(calls[0].size(), 4 * plain_.layers().size());
  EXPECT_EQ(calls[1], calls[0]);
}

TEST_P(InnerNetsUnder, LendTheirWeightsToATestNet) {
  NetParameter param = ParseNet(kNet);
  param.mutable_state()->set_phase(TEST);
  Net<float> test(param), planned_test(param);
  test.ShareTrainedLayersWith(&planned_);
  planned_test.ShareTrainedLayersWith(&planned_);
  ASSERT_TRUE(planned_test.Place(Options(GetParam())).ok());
  const auto forward = [](Net<float>* net) {
    ResetStates(*net);
    Fill(net, 1);
    float loss;
    net->Forward(&loss);
    return loss;
  };
  const float before = forward(&test);
  EXPECT_EQ(forward(&planned_test), before);
  EXPECT_EQ(forward(&planned_), before);
  Pass(&planned_, 0);
  planned_.Update();
  const float after = forward(&test);
  EXPECT_NE(after, before);
  EXPECT_EQ(forward(&planned_test), after);
  EXPECT_EQ(forward(&planned_), after);
}

TEST_P(InnerNetsUnder, SaveTheirWeightsAsOneLayer) {
  Pass(&planned_, 0);
  planned_.Update();
  NetParameter saved;
  planned_.ToProto(&saved);
  for (const LayerParameter& layer : saved.layer()) {
    if (layer.name() == "lstm") {
      EXPECT_EQ(layer.blobs_size(), 3);
    }
  }
  Net<float> loaded(ParseNet(kNet));
  loaded.CopyTrainedLayersFrom(saved);
  for (Net<float>* net : {&loaded, &planned_}) ResetStates(*net);
  EXPECT_EQ(Pass(&planned_, 1), Pass(&loaded, 1));
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, InnerNetsUnder,
                         ::testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace caffe
