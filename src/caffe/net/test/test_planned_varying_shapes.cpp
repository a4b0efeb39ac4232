// Layers whose top shapes depend on values (Filter) in the middle of a planned net.
#include <set>

#include "caffe/net/test/training.hpp"
#include "caffe/net/test/user_layers.hpp"
#include "caffe/solver_plans.hpp"

namespace caffe {
namespace {

// An in-place layer and a branch before the filter, the branch's reader after it; a selector that
// is computed.
const char kNet[] = R"(
  layer { name: "in" type: "Input" top: "x" top: "s"
          input_param { shape { dim: 6 dim: 4 } shape { dim: 6 dim: 1 } } }
  layer { name: "select" type: "Power" bottom: "s" top: "select" power_param { scale: 2 } }
  layer { name: "ip1" type: "InnerProduct" bottom: "x" top: "h"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "bn" type: "BatchNorm" bottom: "h" top: "h" }
  layer { name: "relu" type: "ReLU" bottom: "h" top: "h" }
  layer { name: "drop" type: "Dropout" bottom: "h" top: "d" }
  layer { name: "filter" type: "Filter" bottom: "d" bottom: "select" top: "f"
          propagate_down: true propagate_down: false }
  layer { name: "ip2" type: "InnerProduct" bottom: "f" top: "g"
          inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "loss1" type: "TanH" bottom: "g" top: "loss1" loss_weight: 1 }
  layer { name: "late" type: "Sigmoid" bottom: "h" top: "late" }
  layer { name: "loss2" type: "Power" bottom: "late" top: "loss2" loss_weight: 0.5
          power_param { power: 2 } }
)";

template <typename L>
shared_ptr<Layer<float>> Make(const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new L(param));
}
const LayerRegisterer<float> register_user_abs("UserAbs", Make<UserAbsLayer>);

// Layers before the filter that cannot run again: a layer with an inner net, which has state, a
// layer without traits, and an in-place layer after it.
const char kCannotRunAgain[] = R"(
  layer { name: "in" type: "Input" top: "x" top: "s" top: "cont"
          input_param { shape { dim: 6 dim: 1 dim: 4 } shape { dim: 6 dim: 1 } shape { dim: 6 dim: 1 } } }
  layer { name: "lstm" type: "LSTM" bottom: "x" bottom: "cont" top: "lstm"
          recurrent_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "ip1" type: "InnerProduct" bottom: "lstm" top: "h"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "tanh" type: "TanH" bottom: "h" top: "h" }
  layer { name: "abs" type: "UserAbs" bottom: "h" top: "a" }
  layer { name: "power" type: "Power" bottom: "a" top: "a" power_param { power: 2 shift: 0.5 } }
  layer { name: "drop" type: "Dropout" bottom: "a" top: "d" }
  layer { name: "filter" type: "Filter" bottom: "d" bottom: "s" top: "f"
          propagate_down: true propagate_down: false }
  layer { name: "ip2" type: "InnerProduct" bottom: "f" top: "g"
          inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "loss1" type: "TanH" bottom: "g" top: "loss1" loss_weight: 1 }
)";

struct Seeded {
  explicit Seeded(const string& strategy, Phase phase = TRAIN, const string& text = kNet) {
    Caffe::set_random_seed(1);
    NetParameter param = ParseNet(text);
    param.mutable_state()->set_phase(phase);
    net.reset(new Net<float>(param));
    PlacementOptions options;
    options.strategy = strategy;
    if (!strategy.empty()) {
      EXPECT_TRUE(net->Place(options).ok());
    }
  }

  /// Runs a pass over `items` items, of which it chooses those whose bit is set. Returns the loss,
  /// then all parameters and gradients.
  vector<float> Pass(int items, int chosen) {
    Caffe::set_random_seed(static_cast<unsigned>(chosen));  // for Dropout
    Blob<float>*x = net->input_blobs()[0], *s = net->input_blobs()[1];
    vector<int> shape = x->shape();
    shape[0] = items;
    x->Reshape(shape);
    s->Reshape({items, 1});
    if (net->num_inputs() > 2) {  // continues the sequence of the previous pass
      for (int i = 0; i < items; ++i) net->input_blobs()[2]->mutable_cpu_data()[i] = 1;
    }
    for (int i = 0; i < x->count(); ++i)
      x->mutable_cpu_data()[i] = static_cast<float>((i * 7 + chosen) % 11 - 5) / 3;
    for (int i = 0; i < items; ++i) s->mutable_cpu_data()[i] = static_cast<float>(chosen >> i & 1);
    net->ClearParamDiffs();
    float loss = 0;
    net->Forward(&loss);
    if (net->phase() == TRAIN) net->Backward();
    vector<float> values = {loss};
    for (const Blob<float>* param : net->learnable_params())
      values.insert(values.end(), param->cpu_diff(), param->cpu_diff() + param->count());
    for (const auto& param : net->params())  // statistics, too
      values.insert(values.end(), param->cpu_data(), param->cpu_data() + param->count());
    const Blob<float>& last = *net->blob_by_name("loss1");
    values.insert(values.end(), last.cpu_data(), last.cpu_data() + last.count());
    return values;
  }

  std::unique_ptr<Net<float>> net;
};

TEST(VaryingShapes, GiveTheSameWithAndWithoutAPlan) {
  // Items and choices: the planned number, others, the same again, a batch of another size.
  const pair<int, int> passes[] = {{6, 63}, {6, 63}, {6, 9}, {6, 18}, {6, 18},
                                   {6, 2},  {4, 15}, {4, 6}, {6, 63}};
  for (const Phase phase : {TRAIN, TEST}) {
    for (const char* strategy : {"keep", "liveness", "intra", "inter", "hybrid", "sqrt", "vdnn_all",
                                 "superneurons", "auto"}) {
      Seeded plain("", phase), planned(strategy, phase);
      for (const auto& [items, chosen] : passes) {
        EXPECT_TRUE(SameBits(plain.Pass(items, chosen), planned.Pass(items, chosen)))
            << strategy << ", " << items << " items, chosen " << chosen;
      }
    }
  }
}

TEST(VaryingShapes, GiveTheSameAfterLayersThatCannotRunAgain) {
  for (const char* strategy : {"keep", "liveness", "intra", "inter", "hybrid", "sqrt", "vdnn_all",
                               "superneurons", "auto"}) {
    Seeded plain("", TRAIN, kCannotRunAgain), planned(strategy, TRAIN, kCannotRunAgain);
    for (const int chosen : {63, 63, 9, 18, 18, 2, 63, 7}) {
      EXPECT_TRUE(SameBits(plain.Pass(6, chosen), planned.Pass(6, chosen)))
          << strategy << ", chosen " << chosen;
    }
  }
}

std::set<string> Kept(Phase phase, const string& text) {
  std::set<string> names;
  for (const layrub::Tensor& tensor : Seeded("", phase, text).net->MemoryGraph(-1, {}).tensors) {
    if (tensor.keep) names.insert(tensor.name);
  }
  return names;
}

TEST(VaryingShapes, KeepInTheTestPhaseOnlyWhatLaterLayersRead) {
  EXPECT_EQ(Kept(TEST, kNet), (std::set<string>{"f", "h@2", "loss1", "loss2"}));
}

TEST(VaryingShapes, KeepInTrainingOnlyWhatCannotBeRecomputed) {
  EXPECT_EQ(Kept(TRAIN, kNet), (std::set<string>{"loss1", "loss2"}));
  const std::set<string> kept = Kept(TRAIN, kCannotRunAgain);
  // UserAbs may write h@1, which it reads.
  for (const char* name : {"lstm", "h@1", "a", "a@1", "loss1"})
    EXPECT_EQ(kept.count(name), 1u) << name;
  for (const char* name : {"h", "d", "f"}) EXPECT_EQ(kept.count(name), 0u) << name;
}

/// Eight layers, then one of `type` on their blob, and a loss.
string ChainTo(const string& type, const string& rest) {
  string text = R"(layer { name: "in" type: "Input" top: "h0" top: "s"
                           input_param { shape { dim: 64 dim: 64 } shape { dim: 64 dim: 1 } } })";
  for (int i = 0; i < 8; ++i) {
    const string from = "h" + std::to_string(i), to = "h" + std::to_string(i + 1);
    text += "layer { name: 'ip" + to + "' type: 'InnerProduct' bottom: '" + from + "' top: 'i" +
            to + "' inner_product_param { num_output: 64 weight_filler { type: 'xavier' } } } " +
            "layer { name: '" + to + "' type: 'TanH' bottom: 'i" + to + "' top: '" + to + "' } ";
  }
  return text + "layer { name: 'end' type: '" + type + "' bottom: 'h8' " + rest +
         " top: 'f' } layer { name: 'loss1' type: 'Sigmoid' bottom: 'f' top: 'loss1' " +
         "loss_weight: 1 }";
}

TEST(VaryingShapes, CostTrainingNoMoreThanTheirTops) {
  for (const char* strategy : {"liveness", "sqrt"}) {
    const auto smallest = [&](const string& text) {
      PlacementOptions options;
      options.strategy = strategy;
      const Seeded made("", TRAIN, text);
      return SmallestPlans({made.net->MemoryGraph(-1, {}), {}}, options).value().device_bytes;
    };
    const int64_t activation = 64 * 64 * 4;
    EXPECT_LE(smallest(ChainTo("Filter", "bottom: 's' propagate_down: true propagate_down: false")),
              smallest(ChainTo("TanH", "")) + activation)
        << strategy;
  }
}

TEST(VaryingShapes, NeverNeedMoreThanTheLargestShape) {
  for (const char* strategy : {"liveness", "hybrid", "auto"}) {
    Seeded plain(""), planned("");
    PlacementOptions options;
    options.strategy = strategy;
    const auto smallest = SmallestPlans({planned.net->MemoryGraph(-1, {}), {}}, options);
    options.budget.device = smallest.value().device_bytes;
    ASSERT_TRUE(planned.net->Place(options).ok());
    for (const auto& [items, chosen] :
         {pair{6, 63}, {6, 1}, {6, 2}, {6, 3}, {4, 1}, {4, 2}, {2, 3}, {1, 1}, {6, 63}, {6, 31}}) {
      EXPECT_TRUE(SameBits(plain.Pass(items, chosen), planned.Pass(items, chosen)))
          << strategy << ", " << items << " items, chosen " << chosen;
    }
  }
}

TEST(VaryingShapes, FitIntoThePlanAtTheEndOfATest) {
  const string ends_in_filters = R"(
    layer { name: "in" type: "Input" top: "x" top: "s"
            input_param { shape { dim: 6 dim: 4 } shape { dim: 6 dim: 1 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "h"
            inner_product_param { num_output: 50 weight_filler { type: "xavier" } } }
    layer { name: "tanh" type: "TanH" bottom: "h" top: "y" }
    layer { name: "filter" type: "Filter" bottom: "y" bottom: "s" top: "f" }
    layer { name: "ones" type: "Filter" bottom: "s" bottom: "s" top: "ones" }
    layer { name: "again" type: "Filter" bottom: "f" bottom: "ones" top: "g" } )";
  for (const char* strategy : {"keep", "liveness", "auto"}) {
    const auto make = [&] {
      Caffe::set_random_seed(1);
      NetParameter param = ParseNet(ends_in_filters);
      param.mutable_state()->set_phase(TEST);
      return std::make_unique<Net<float>>(param);
    };
    const auto plain = make(), planned = make();
    PlacementOptions options;
    options.strategy = strategy;
    ASSERT_TRUE(planned->Place(options).ok());
    for (const int chosen : {63, 1, 6, 63, 9, 63}) {
      for (Net<float>* net : {plain.get(), planned.get()}) {
        for (int i = 0; i < 24; ++i)
          net->input_blobs()[0]->mutable_cpu_data()[i] = static_cast<float>(i % 5) - 2;
        for (int i = 0; i < 6; ++i)
          net->input_blobs()[1]->mutable_cpu_data()[i] = static_cast<float>(chosen >> i & 1);
        net->Forward();
      }
      EXPECT_NE(planned->planned(), nullptr) << strategy << " " << chosen;
      const Blob<float>&expected = *plain->blob_by_name("g"), &found = *planned->blob_by_name("g");
      ASSERT_EQ(found.shape(), expected.shape()) << strategy << " " << chosen;
      EXPECT_TRUE(
          std::equal(found.cpu_data(), found.cpu_data() + found.count(), expected.cpu_data()))
          << strategy << " " << chosen;
    }
    // It is placed again while it has few rows, but there is memory for all rows.
    planned->input_blobs()[1]->mutable_cpu_data()[0] = 1;
    for (int i = 1; i < 6; ++i) planned->input_blobs()[1]->mutable_cpu_data()[i] = 0;
    planned->Forward();
    ASSERT_TRUE(planned->Place(options).ok());
    for (int i = 0; i < 6; ++i) planned->input_blobs()[1]->mutable_cpu_data()[i] = 1;
    planned->Forward();
    EXPECT_NE(planned->planned(), nullptr) << strategy;
    EXPECT_EQ(planned->blob_by_name("g")->shape(0), 6);
  }
}

TEST(VaryingShapes, ArePlannedAgainInTheNextPass) {
  Seeded planned("hybrid");
  planned.Pass(6, 63);
  EXPECT_NE(planned.net->planned(), nullptr);
  planned.Pass(6, 3);
  EXPECT_EQ(planned.net->planned(), nullptr);
  planned.Pass(6, 12);  // two again
  EXPECT_NE(planned.net->planned(), nullptr);
}

TEST(VaryingShapes, AreThoseOfTheLatestPassBeforeAForward) {
  Seeded planned("hybrid");
  planned.Pass(6, 63);
  planned.net->Reshape();
  EXPECT_EQ(planned.net->blob_by_name("f")->shape(0), 6);
  Seeded plain("");
  plain.Pass(6, 63);
  EXPECT_TRUE(SameBits(plain.Pass(6, 7), planned.Pass(6, 7)));
}

}  // namespace
}  // namespace caffe
