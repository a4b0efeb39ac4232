#include <gtest/gtest.h>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/body_memory.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string BatchNorm(const string& param = "") {
  return "name: 'bn' type: 'BatchNorm' batch_norm_param { " + param + " }";
}

TEST(BatchNormLayer, GivesEachChannelMeanZeroAndVarianceOne) {
  for (const vector<int>& shape :
       {vector<int>{4, 3, 5, 2}, vector<int>{20, 3}, vector<int>{5, 3, 7}}) {
    auto x = RandomBlob(shape, 1);
    for (int i = 0; i < x->count(); ++i) x->mutable_cpu_data()[i] = 3 * x->cpu_data()[i] + 5;
    Blob<double> y;
    auto layer = MakeLayer(BatchNorm());
    layer->SetUp({x.get()}, {&y});
    layer->Forward({x.get()}, {&y});
    const int inner = y.count(2), per_channel = y.count() / 3;
    for (int c = 0; c < 3; ++c) {
      double sum = 0, squares = 0;
      for (int i = 0; i < y.count(); ++i) {
        if (i / inner % 3 != c) continue;
        sum += y.cpu_data()[i];
        squares += y.cpu_data()[i] * y.cpu_data()[i];
      }
      EXPECT_NEAR(sum / per_channel, 0, 1e-10);
      EXPECT_NEAR(squares / per_channel, 1, 1e-5);
    }
  }
}

TEST(BatchNormLayer, KeepsRunningSumsAndUsesThemOutsideTraining) {
  auto x = BlobOf({2, 1}, {1, 3}), probe = BlobOf({1, 1}, {10});
  Blob<double> y;
  auto layer = MakeLayer(BatchNorm("moving_average_fraction: 0.5 eps: 1"));
  layer->SetUp({x.get()}, {&y});
  for (int pass = 0; pass < 2; ++pass) layer->Forward({x.get()}, {&y});
  // Mean 2, unbiased variance 2, weights 1 and 0.5.
  EXPECT_EQ(DataOf(*layer->blobs()[0]), vector<double>{3});
  EXPECT_EQ(DataOf(*layer->blobs()[1]), vector<double>{3});
  EXPECT_EQ(DataOf(*layer->blobs()[2]), vector<double>{1.5});
  auto global = MakeLayer(BatchNorm("eps: 1"), TEST);
  global->SetUp({probe.get()}, {&y});
  for (int i = 0; i < 3; ++i) global->blobs()[i]->CopyFrom(*layer->blobs()[i]);
  global->Forward({probe.get()}, {&y});
  EXPECT_DOUBLE_EQ(y.cpu_data()[0], 8 / std::sqrt(3.0));
}

TEST(BatchNormLayer, EveryVariantGivesTheGradient) {
  for (const char* param : {"", "use_global_stats: true"}) {
    for (const vector<int>& shape : {vector<int>{3, 2, 2, 2}, vector<int>{4, 3}}) {
      for (int variant = -1; variant < (*param == '\0' ? 3 : 1); ++variant) {
        auto x = RandomBlob(shape, 2);
        Blob<double> y;
        GradientChecker<double> checker(1e-4, 1e-5);
        checker.set_variant(variant);
        checker.CheckGradientExhaustive(MakeLayer(BatchNorm(param)).get(), {x.get()}, {&y});
      }
    }
  }
}

TEST(BatchNormLayer, AllVariantsGiveTheSameBitsInPlaceToo) {
  auto x = RandomBlob({3, 2, 4, 5}, 3);
  Blob<double> y;
  CheckVariants(MakeLayer(BatchNorm()).get(), {x.get()}, {&y}, {true}, true);
  CheckVariants(MakeLayer(BatchNorm("use_global_stats: true")).get(), {x.get()}, {&y}, {true},
                true);
  CheckVariants(MakeLayer(BatchNorm()).get(), {x.get()}, {&y}, {false}, true);
}

TEST(BatchNormLayer, NeedsNoFullSizeWorkspaceAndIsRepeatable) {
  auto x = RandomBlob({3, 2, 4, 5}, 4);
  Blob<double> y;
  for (const Phase phase : {TRAIN, TEST}) {
    auto layer = MakeLayer(BatchNorm(), phase);
    layer->SetUp({x.get()}, {&y});
    const MemoryTraits traits = layer->Traits({x.get()}, {&y}, {true});
    EXPECT_TRUE(traits.repeatable);
    EXPECT_EQ(traits.forward.workspace_bytes, 2 * 2 * 8);
    for (const OperandVariant& variant : traits.backward)
      EXPECT_LE(variant.workspace_bytes, 2 * 2 * 8);
  }
}

TEST(BatchNormLayer, RecomputedForwardLeavesTheStatisticsAlone) {
  auto x = RandomBlob({3, 2, 4, 5}, 7);
  Blob<double> y;
  auto layer = MakeLayer(BatchNorm());
  layer->SetUp({x.get()}, {&y});
  const MemoryTraits traits = layer->Traits({x.get()}, {&y}, {true});
  for (int variant = 0; variant < static_cast<int>(traits.backward.size()); ++variant) {
    const VariantBuffers first(traits, variant), again(traits, variant);
    layer->EnterPlan(first.forward());
    layer->Forward({x.get()}, {&y});
    const vector<double> top = DataOf(y);
    vector<vector<double>> statistics;
    for (const auto& blob : layer->blobs()) statistics.push_back(DataOf(*blob));
    std::fill_n(y.mutable_cpu_data(), y.count(), NAN);
    LayerRun run = again.forward();
    run.recompute = true;
    layer->EnterPlan(run);
    layer->Forward({x.get()}, {&y});
    layer->LeavePlan();
    EXPECT_EQ(DataOf(y), top);
    for (size_t k = 0; k < run.saved.size(); ++k) {
      if (run.saved[k] == nullptr) continue;
      const size_t bytes = traits.saved[k].bytes;
      EXPECT_EQ(Get<uint8_t>(run.saved[k], bytes), Get<uint8_t>(first.forward().saved[k], bytes));
    }
    for (size_t i = 0; i < statistics.size(); ++i) {
      EXPECT_EQ(DataOf(*layer->blobs()[i]), statistics[i]);
    }
  }
}

TEST(BatchNormLayer, DoesNotLearnItsStatistics) {
  auto x = RandomBlob({3, 2}, 5);
  Blob<double> y;
  auto layer = MakeLayer(BatchNorm());
  layer->SetUp({x.get()}, {&y});
  ASSERT_EQ(layer->layer_param().param_size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(layer->layer_param().param(i).lr_mult(), 0);
  auto learning = MakeLayer(BatchNorm() + " param { lr_mult: 1 }");
  EXPECT_ERROR(learning->SetUp({x.get()}, {&y}),
               "Layer bn: Cannot configure batch normalization statistics");
}

TEST(BatchNormLayerErrors, TheNumberOfChannelsMayNotChange) {
  auto x = RandomBlob({3, 2}, 6), wide = RandomBlob({3, 4}, 6);
  Blob<double> y;
  auto layer = MakeLayer(BatchNorm());
  layer->SetUp({x.get()}, {&y});
  EXPECT_ERROR(layer->Forward({wide.get()}, {&y}),
               "Layer bn: the number of channels may not change");
}

}  // namespace
}  // namespace caffe
