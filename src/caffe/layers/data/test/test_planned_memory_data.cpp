// Nets that read from memory give the same results with and without a plan.
#include "caffe/layers/memory_data_layer.hpp"
#include "caffe/net/test/training.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace caffe {
namespace {

const char kNet[] = R"(
  layer { name: "data" type: "MemoryData" top: "data" top: "label"
          memory_data_param { batch_size: 4 channels: 2 height: 6 width: 5 } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
          convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "msra" } } }
  layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
  layer { name: "flat" type: "Flatten" bottom: "conv" top: "flat" }
  layer { name: "ip" type: "InnerProduct" bottom: "flat" top: "ip"
          inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";

/// Twelve images and their labels.
class Images {
 public:
  Images() {
    for (size_t i = 0; i < pixels_.size(); ++i) {
      pixels_[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 40;
    }
    for (size_t i = 0; i < labels_.size(); ++i) labels_[i] = static_cast<float>(i * 5 % 3);
  }
  void Feed(MemoryDataLayer<float>* layer) { layer->Reset(pixels_.data(), labels_.data(), 12); }
  vector<Datum> Datums() const {
    vector<Datum> datums(labels_.size());
    for (size_t i = 0; i < datums.size(); ++i) {
      datums[i].set_channels(2);
      datums[i].set_height(6);
      datums[i].set_width(5);
      datums[i].set_label(static_cast<int>(labels_[i]));
      for (int k = 0; k < 60; ++k) datums[i].add_float_data(pixels_[60 * i + k]);
    }
    return datums;
  }

 private:
  vector<float> pixels_ = vector<float>(12 * 60);
  vector<float> labels_ = vector<float>(12);
};

/// Trains for 7 iterations; without a strategy, without a plan. Calls before_step with the layer,
/// the images and the iteration before each.
template <typename BeforeStep>
vector<float> Train(const string& strategy, const BeforeStep& before_step) {
  Images images;
  OpenSolver solver(SolverFor(ParseNet(kNet), strategy));
  auto* layer = static_cast<MemoryDataLayer<float>*>(solver.net()->layer_by_name("data").get());
  if (!strategy.empty()) {
    solver.mutable_placement_extra()->padding = 512;
    solver.mutable_placement_extra()->executor.poison = true;
  }
  for (int i = 0; i < 7; ++i) {
    before_step(layer, &images, i);
    if (strategy.empty()) {
      solver.net()->ClearParamDiffs();
      solver.net()->ForwardBackward();
      solver.ApplyUpdate();
    } else {
      solver.Step(1);
    }
  }
  if (!strategy.empty()) {
    EXPECT_NE(solver.net()->planned(), nullptr);
    EXPECT_TRUE(solver.net()->planned()->executor().SentinelsIntact());
  }
  return TrainedState(&solver);
}

class PlannedMemoryData : public testing::TestWithParam<string> {
 protected:
  template <typename BeforeStep>
  static void ExpectTheBitsOfUnplannedTraining(const BeforeStep& before_step) {
    const vector<float> state = Train(GetParam(), before_step);
    EXPECT_TRUE(AllFinite(state));
    EXPECT_TRUE(SameBits(state, Train("", before_step)));
  }
};

TEST_P(PlannedMemoryData, TrainsOnArraysOfTheUser) {
  ExpectTheBitsOfUnplannedTraining([](MemoryDataLayer<float>* layer, Images* images, int i) {
    if (i == 0) images->Feed(layer);
  });
}

TEST_P(PlannedMemoryData, TrainsOnArraysThatAreResetBetweenSteps) {
  ExpectTheBitsOfUnplannedTraining([](MemoryDataLayer<float>* layer, Images* images, int i) {
    if (i % 2 == 0) images->Feed(layer);
  });
}

TEST_P(PlannedMemoryData, TrainsOnImagesThatAreAdded) {
  ExpectTheBitsOfUnplannedTraining([](MemoryDataLayer<float>* layer, Images* images, int i) {
    if (i % 3 == 0) layer->AddDatumVector(images->Datums());
  });
}

TEST_P(PlannedMemoryData, TakesAnotherBatchSizeBetweenSteps) {
  ExpectTheBitsOfUnplannedTraining([](MemoryDataLayer<float>* layer, Images* images, int i) {
    if (i == 2) layer->set_batch_size(6);
    if (i == 5) layer->set_batch_size(3);
    if (i == 0 || i == 2 || i == 5) images->Feed(layer);
  });
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, PlannedMemoryData,
                         testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace caffe
