#include <numeric>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string PReLU(const string& param = "") {
  return "name: 'prelu' type: 'PReLU' prelu_param { " + param + " }";
}

// Learned slopes may be negative.
const char kSpread[] = "filler { type: 'uniform' min: -1 max: 1 }";
const char kShared[] = "channel_shared: true filler { value: 0.2 }";

TEST(PReLULayer, ScalesNegativeValuesByTheSlopeOfTheirChannel) {
  auto x = BlobOf({2, 2, 2}, {-1, 2, -3, 0, 4, -5, -6, 7});
  Blob<double> y;
  auto layer = MakeLayer(PReLU());
  layer->SetUp({x.get()}, {&y});
  ASSERT_EQ(layer->blobs().size(), 1u);
  layer->blobs()[0]->mutable_cpu_data()[1] = -2;
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{-0.25, 2, 6, 0, 4, -1.25, 12, 7}));
}

TEST(PReLULayer, StartsWithASlopeOfAQuarterPerChannelOrShared) {
  auto x = RandomBlob({2, 3, 2, 1, 2}, 1);
  Blob<double> y;
  auto each = MakeLayer("type: 'PReLU'"), shared = MakeLayer(PReLU(kShared));
  each->SetUp({x.get()}, {&y});
  shared->SetUp({x.get()}, {&y});
  EXPECT_EQ(y.shape(), x->shape());
  EXPECT_EQ(each->blobs()[0]->shape(), vector<int>{3});
  EXPECT_EQ(DataOf(*each->blobs()[0]), vector<double>(3, 0.25));
  EXPECT_EQ(shared->blobs()[0]->shape(), vector<int>{});
  EXPECT_FLOAT_EQ(shared->blobs()[0]->cpu_data()[0], 0.2f);
}

TEST(PReLULayer, EveryVariantGivesTheGradient) {
  for (const char* param : {"", kSpread, kShared}) {
    for (const vector<int>& shape : {vector<int>{2, 3, 2, 2}, vector<int>{4, 3}}) {
      for (int variant = -1; variant < 2; ++variant) {
        auto x = RandomBlob(shape, 2);
        Blob<double> y;
        GradientChecker<double> checker(1e-4, 1e-6, 1701, 0., 0.001);
        checker.set_variant(variant);
        checker.CheckGradientExhaustive(MakeLayer(PReLU(param)).get(), {x.get()}, {&y});
      }
    }
  }
}

TEST(PReLULayer, AllVariantsGiveTheSameBitsInPlaceToo) {
  for (const char* param : {kSpread, kShared}) {
    for (const vector<int>& shape : {vector<int>{2, 3, 20}, vector<int>{5, 3}}) {
      auto x = RandomBlob(shape, 3);
      x->mutable_cpu_data()[1] = 0;
      Blob<double> y;
      CheckVariants(MakeLayer(PReLU(param)).get(), {x.get()}, {&y}, {true}, true);
      CheckVariants(MakeLayer(PReLU(param)).get(), {x.get()}, {&y}, {false}, true);
      auto fixed = MakeLayer(PReLU(param));
      fixed->set_param_propagate_down(0, false);
      CheckVariants(fixed.get(), {x.get()}, {&y}, {true}, true);
    }
  }
}

TEST(PReLULayer, DeclaresOnlyTheGradientsThatAreWanted) {
  auto x = RandomBlob({2, 3, 2}, 4);
  Blob<double> y;
  auto layer = MakeLayer(PReLU(kShared));
  layer->SetUp({x.get()}, {&y});
  for (const OperandVariant& variant : layer->Traits({x.get()}, {&y}, {false}).backward) {
    EXPECT_EQ(variant.writes, vector<Operand>{ParamDiff(0)});
    EXPECT_EQ(std::count(variant.reads.begin(), variant.reads.end(), ParamData(0)), 0);
    EXPECT_EQ(variant.workspace_bytes, 2 * 8);
  }
  layer->set_param_propagate_down(0, false);
  for (const OperandVariant& variant : layer->Traits({x.get()}, {&y}, {true}).backward) {
    EXPECT_EQ(variant.writes, vector<Operand>{BottomDiff(0)});
    EXPECT_EQ(variant.workspace_bytes, 0);
  }
  EXPECT_TRUE(layer->Traits({x.get()}, {&y}, {false}).backward.empty());
}

TEST(PReLULayer, TheGradientOfTheSlopeIsTheSameOnManyThreads) {
  for (const char* param : {"", "channel_shared: true"}) {
    auto x = RandomBlob({7, 3, 2111}, 5);
    Blob<double> y;
    auto layer = MakeLayer(PReLU(param));
    layer->SetUp({x.get()}, {&y});
    vector<vector<double>> runs;
    for (int run = 0; run < 3; ++run) {
      layer->Forward({x.get()}, {&y});
      std::fill_n(y.mutable_cpu_diff(), y.count(), 1.0);
      std::fill_n(layer->blobs()[0]->mutable_cpu_diff(), layer->blobs()[0]->count(), 0.0);
      layer->Backward({&y}, {true}, {x.get()});
      runs.push_back(DiffOf(*layer->blobs()[0]));
    }
    EXPECT_EQ(runs[1], runs[0]);
    EXPECT_EQ(runs[2], runs[0]);
    double expected = 0;
    for (const double value : DataOf(*x)) expected += std::min(value, 0.0);
    EXPECT_NEAR(std::accumulate(runs[0].begin(), runs[0].end(), 0.0), expected, 1e-8);
  }
}

TEST(PReLULayer, TakesAnEmptyBatch) {
  for (const char* param : {"", "channel_shared: true"}) {
    auto x = std::make_unique<Blob<double>>(vector<int>{0, 3, 2});
    Blob<double> y;
    auto layer = MakeLayer(PReLU(param));
    layer->SetUp({x.get()}, {&y});
    layer->Forward({x.get()}, {&y});
    std::fill_n(layer->blobs()[0]->mutable_cpu_diff(), layer->blobs()[0]->count(), 2.0);
    layer->Backward({&y}, {true}, {x.get()});
    EXPECT_EQ(layer->blobs()[0]->cpu_diff()[0], 2);
  }
}

TEST(PReLULayerErrors, BadShapesNameTheLayer) {
  auto flat = RandomBlob({6}, 6), x = RandomBlob({2, 3}, 7), wide = RandomBlob({2, 4}, 8);
  Blob<double> y;
  EXPECT_ERROR(MakeLayer(PReLU())->SetUp({flat.get()}, {&y}),
               "Layer prelu: Number of axes of bottom blob must be >=2");
  EXPECT_ERROR(
      MakeLayer(PReLU() + " blobs { shape { dim: 2 } data: 1 data: 1 }")->SetUp({x.get()}, {&y}),
      "Layer prelu: Negative slope size is inconsistent");
  EXPECT_ERROR(MakeLayer(PReLU(kShared) + " blobs { shape { dim: 2 } data: 1 data: 1 }")
                   ->SetUp({x.get()}, {&y}),
               "Layer prelu: Negative slope size is inconsistent");
  auto layer = MakeLayer(PReLU());
  layer->SetUp({x.get()}, {&y});
  EXPECT_ERROR(layer->Forward({wide.get()}, {&y}),
               "Layer prelu: Negative slope size is inconsistent");
}

}  // namespace
}  // namespace caffe
