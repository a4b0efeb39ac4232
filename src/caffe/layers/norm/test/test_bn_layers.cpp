// BatchNorm with scale_bias, and BN.
#include <cmath>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string BatchNorm(const string& param) {
  return "name: 'bn' type: 'BatchNorm' batch_norm_param { scale_bias: true " + param + " }";
}

string BN(const string& param) { return "name: 'bn' type: 'BN' bn_param { " + param + " }"; }

const char kDrawn[] =
    "scale_filler { type: 'uniform' min: -2 max: 2 } bias_filler { type: 'uniform' min: 1 max: 3 }";
const char kDrawnSlope[] =
    "slope_filler { type: 'uniform' min: -2 max: 2 } bias_filler { type: 'uniform' min: 1 max: 3 }";
const char kFolded[] =
    "bn_mode: INFERENCE scale_filler { type: 'uniform' min: -2 max: 2 } "
    "shift_filler { type: 'uniform' min: 1 max: 3 }";

void ExpectNear(const vector<double>& values, const vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-10) << i;
}

/// Forward and backward of `layer`, set up, with a gradient of 1, -2, 3, ...
void RunBoth(Layer<double>* layer, Blob<double>* x, Blob<double>* y) {
  for (const auto& blob : layer->blobs()) std::fill_n(blob->mutable_cpu_diff(), blob->count(), 0.0);
  layer->Forward({x}, {y});
  for (int i = 0; i < y->count(); ++i) y->mutable_cpu_diff()[i] = i % 2 == 0 ? i + 1 : -i - 1;
  layer->Backward({y}, {true}, {x});
}

TEST(BatchNormWithScaleBias, EqualsBatchNormThenScale) {
  for (const char* statistics : {"", "use_global_stats: true"}) {
    auto x = RandomBlob({3, 2, 4, 5}, 1), x2 = RandomBlob({3, 2, 4, 5}, 1);
    Blob<double> y, between, y2;
    auto layer = MakeLayer(BatchNorm(string(kDrawn) + statistics));
    auto norm = MakeLayer(string("type: 'BatchNorm' batch_norm_param { ") + statistics + " }");
    auto scale = MakeLayer("type: 'Scale' scale_param { bias_term: true }");
    layer->SetUp({x.get()}, {&y});
    norm->SetUp({x2.get()}, {&between});
    scale->SetUp({&between}, {&y2});
    ASSERT_EQ(layer->blobs().size(), 5u);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(layer->blobs()[3 + i]->shape(), vector<int>{2});
      scale->blobs()[i]->CopyFrom(*layer->blobs()[3 + i]);
    }
    for (int i = 0; i < 3; ++i) {
      std::fill_n(layer->blobs()[i]->mutable_cpu_data(), layer->blobs()[i]->count(), 0.5 + i);
      norm->blobs()[i]->CopyFrom(*layer->blobs()[i]);
    }
    RunBoth(layer.get(), x.get(), &y);
    norm->Forward({x2.get()}, {&between});
    RunBoth(scale.get(), &between, &y2);
    norm->Backward({&between}, {true}, {x2.get()});
    ExpectNear(DataOf(y), DataOf(y2));
    ExpectNear(DiffOf(*x), DiffOf(*x2));
    for (int i = 0; i < 2; ++i)
      ExpectNear(DiffOf(*layer->blobs()[3 + i]), DiffOf(*scale->blobs()[i]));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(DataOf(*layer->blobs()[i]), DataOf(*norm->blobs()[i]));
  }
}

TEST(BatchNormWithScaleBias, StartsWithScaleOneAndBiasZeroAndLearnsOnlyThem) {
  auto x = RandomBlob({3, 2}, 2);
  Blob<double> y;
  auto layer = MakeLayer(BatchNorm(""));
  layer->SetUp({x.get()}, {&y});
  EXPECT_EQ(DataOf(*layer->blobs()[3]), (vector<double>{1, 1}));
  EXPECT_EQ(DataOf(*layer->blobs()[4]), (vector<double>{0, 0}));
  ASSERT_EQ(layer->layer_param().param_size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(layer->layer_param().param(i).lr_mult(), 0);
  EXPECT_TRUE(layer->param_propagate_down(3));
  EXPECT_TRUE(layer->param_propagate_down(4));
}

TEST(BatchNormWithScaleBias, EveryVariantGivesTheGradient) {
  for (const char* statistics : {"", "use_global_stats: true"}) {
    for (const vector<int>& shape : {vector<int>{3, 2, 2, 2}, vector<int>{4, 3}}) {
      for (int variant = -1; variant < 2; ++variant) {
        auto x = RandomBlob(shape, 3);
        Blob<double> y;
        // A large eps: without running sums the variance is 0.
        GradientChecker<double> checker(1e-4, 1e-5);
        checker.set_variant(variant);
        auto layer = MakeLayer(BatchNorm(string(kDrawn) + "eps: 0.5 " + statistics));
        checker.CheckGradientExhaustive(layer.get(), {x.get()}, {&y});
      }
    }
  }
}

TEST(BatchNormWithScaleBias, AllVariantsGiveTheSameBitsInPlaceToo) {
  auto x = RandomBlob({3, 2, 4, 5}, 4);
  Blob<double> y;
  for (const char* statistics : {"", "use_global_stats: true"}) {
    const string text = BatchNorm(string(kDrawn) + statistics);
    for (int fixed = 0; fixed < 4; ++fixed) {
      for (const bool wanted : {true, false}) {
        auto layer = MakeLayer(text);
        layer->SetUp({x.get()}, {&y});
        layer->set_param_propagate_down(3, fixed % 2 == 0);
        layer->set_param_propagate_down(4, fixed / 2 == 0);
        CheckVariants(layer.get(), {x.get()}, {&y}, {wanted}, true);
      }
    }
  }
}

TEST(BatchNormWithScaleBiasErrors, RejectsWeightsOfAnotherNumberOrShape) {
  auto x = RandomBlob({3, 2}, 5);
  Blob<double> y;
  const string blob = " blobs { shape { dim: 2 } data: 1 data: 1 }";
  const string one = " blobs { shape { dim: 1 } data: 1 }";
  EXPECT_ERROR(MakeLayer(BatchNorm("") + blob + blob + one)->SetUp({x.get()}, {&y}),
               "Layer bn: Incorrect number of weight blobs");
  EXPECT_ERROR(MakeLayer(BatchNorm("") + blob + blob + one + blob + one)->SetUp({x.get()}, {&y}),
               "Layer bn: parameter 4 has shape 1");
}

TEST(BN, HasFourBlobsAndLearnsTwo) {
  auto x = RandomBlob({3, 2, 1, 2}, 6);
  Blob<double> y;
  for (const char* params : {"", " param { lr_mult: 3 }", " param { } param { } param { }"}) {
    auto layer = MakeLayer(BN("") + params);
    layer->SetUp({x.get()}, {&y});
    ASSERT_EQ(layer->blobs().size(), 4u);
    const double first[4] = {1, 0, 0, 1};
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(layer->blobs()[i]->shape(), (vector<int>{1, 2, 1, 1}));
      EXPECT_EQ(DataOf(*layer->blobs()[i]), vector<double>(2, first[i]));
    }
    ASSERT_EQ(layer->layer_param().param_size(), 4);
    EXPECT_NE(layer->layer_param().param(0).lr_mult(), 0);
    EXPECT_NE(layer->layer_param().param(1).lr_mult(), 0);
    EXPECT_EQ(layer->layer_param().param(2).lr_mult(), 0);
    EXPECT_EQ(layer->layer_param().param(3).lr_mult(), 0);
  }
}

TEST(BN, UpdatesRunningStatisticsAndUsesThemFrozenAndOutsideTraining) {
  auto x = BlobOf({2, 1}, {1, 3}), probe = BlobOf({1, 1}, {10});
  Blob<double> y;
  auto layer = MakeLayer(BN("momentum: 0.75 eps: 3 slope_filler { value: 4 }"));
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  // Mean 2, variance 1.
  EXPECT_EQ(DataOf(y), (vector<double>{-2, 2}));
  EXPECT_EQ(DataOf(*layer->blobs()[2]), vector<double>{0.5});
  EXPECT_EQ(DataOf(*layer->blobs()[3]), vector<double>{1});
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(*layer->blobs()[2]), vector<double>{0.875});
  for (const bool frozen : {false, true}) {
    auto fixed =
        MakeLayer(BN(frozen ? "var_eps: 3 frozen: true" : "var_eps: 3"), frozen ? TRAIN : TEST);
    fixed->SetUp({probe.get()}, {&y});
    fixed->blobs()[1]->mutable_cpu_data()[0] = 100;
    fixed->blobs()[2]->mutable_cpu_data()[0] = 4;
    fixed->Forward({probe.get()}, {&y});
    EXPECT_EQ(DataOf(y), vector<double>{103});
    EXPECT_EQ(DataOf(*fixed->blobs()[2]), vector<double>{4});
  }
}

TEST(BN, EveryVariantGivesTheGradient) {
  for (const vector<int>& shape : {vector<int>{3, 2, 2, 2}, vector<int>{4, 3}}) {
    for (int variant = -1; variant < 2; ++variant) {
      auto x = RandomBlob(shape, 7);
      Blob<double> y;
      GradientChecker<double> checker(1e-4, 1e-5);
      checker.set_variant(variant);
      checker.CheckGradientExhaustive(MakeLayer(BN(kDrawnSlope)).get(), {x.get()}, {&y});
    }
  }
}

TEST(BN, FrozenStatisticsAreConstantsForTheGradients) {
  for (int variant = -1; variant < 2; ++variant) {
    auto x = RandomBlob({3, 2, 2, 2}, 8);
    Blob<double> y;
    auto layer = MakeLayer(BN(string("frozen: true ") + kDrawnSlope));
    layer->SetUp({x.get()}, {&y});
    // The gradient check skips values near 7: only the statistics have them.
    for (int i : {2, 3}) std::fill_n(layer->blobs()[i]->mutable_cpu_data(), 2, 7.0);
    GradientChecker<double> checker(1e-4, 1e-5, 1701, 7., 0.01);
    checker.set_variant(variant);
    for (int i = 0; i < y.count(); ++i)
      checker.CheckGradientSingle(layer.get(), {x.get()}, {&y}, 0, 0, i);
  }
}

TEST(BN, AllVariantsGiveTheSameBitsInPlaceToo) {
  auto x = RandomBlob({3, 2, 4, 5}, 9);
  Blob<double> y;
  for (const string& param :
       {string(kDrawnSlope), string("frozen: true ") + kDrawnSlope, string(kFolded)}) {
    for (const bool wanted : {true, false}) {
      CheckVariants(MakeLayer(BN(param)).get(), {x.get()}, {&y}, {wanted}, true);
      auto fixed = MakeLayer(BN(param));
      fixed->SetUp({x.get()}, {&y});
      fixed->set_param_propagate_down(0, false);
      CheckVariants(fixed.get(), {x.get()}, {&y}, {wanted}, true);
    }
  }
}

TEST(BN, BackwardReadsNoValuesIfFrozenWithAFixedSlope) {
  auto x = RandomBlob({3, 2, 4, 5}, 10);
  Blob<double> y;
  auto layer = MakeLayer(BN("frozen: true"));
  layer->SetUp({x.get()}, {&y});
  EXPECT_EQ(layer->Traits({x.get()}, {&y}, {true}).backward.size(), 2u);
  layer->set_param_propagate_down(0, false);
  const MemoryTraits traits = layer->Traits({x.get()}, {&y}, {true});
  ASSERT_EQ(traits.backward.size(), 1u);
  EXPECT_EQ(traits.backward[0].name, "constant");
}

TEST(BN, WithFoldedStatisticsScalesAndShifts) {
  auto x = BlobOf({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Blob<double> y;
  auto layer = MakeLayer(BN("bn_mode: INFERENCE"));
  layer->SetUp({x.get()}, {&y});
  ASSERT_EQ(layer->blobs().size(), 2u);
  for (const auto& blob : layer->blobs()) EXPECT_EQ(blob->shape(), (vector<int>{1, 2, 1, 1}));
  layer->blobs()[0]->mutable_cpu_data()[1] = 10;
  layer->blobs()[1]->mutable_cpu_data()[0] = 0.5;
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{1.5, 2.5, 30, 40, 5.5, 6.5, 70, 80}));
  EXPECT_STREQ(layer->type(), "BN");
  const char filled[] = "bn_mode: INFERENCE scale_filler { value: 3 } shift_filler { value: -1 }";
  CheckAllVariants(BN(filled), {{3, 2, 2, 2}}, 1, 2);
}

TEST(BNErrors, BadParametersNameTheLayer) {
  auto x = RandomBlob({3, 2}, 11), wide = RandomBlob({3, 4}, 11);
  Blob<double> y;
  const auto fails = [&](const string& text, const char* said) {
    EXPECT_ERROR(MakeLayer(text)->SetUp({x.get()}, {&y}), said) << text;
  };
  fails(BN("eps: 1 var_eps: 2"), "Layer bn: eps and var_eps are one number");
  fails(BN("slope_filler { } scale_filler { value: 2 }"),
        "Layer bn: slope_filler and scale_filler are one filler");
  fails(BN("bias_filler { } shift_filler { value: 2 }"),
        "Layer bn: bias_filler and shift_filler are one filler");
  const string blob = " blobs { shape { dim: 3 } data: 1 data: 1 data: 1 }";
  fails(BN("") + blob + blob, "Layer bn: Incorrect number of weight blobs");
  fails(BN("bn_mode: INFERENCE") + blob + blob, "Layer bn: parameter 0 has shape 3");
  for (const char* mode : {"", "bn_mode: INFERENCE"}) {
    auto layer = MakeLayer(BN(mode));
    layer->SetUp({x.get()}, {&y});
    EXPECT_ERROR(layer->Forward({wide.get()}, {&y}),
                 "Layer bn: the number of channels may not change");
  }
}

}  // namespace
}  // namespace caffe
