// ReLU6, Normalize, Axpy, SmoothL1Loss, L1Loss and PriorBox.
#include <cmath>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const vector<vector<bool>> kWhichOfTwo = {{true, true}, {true, false}, {false, true}};

/// Values from about -10 to 10.
std::unique_ptr<Blob<double>> WideBlob(const vector<int>& shape, unsigned seed) {
  auto blob = RandomBlob(shape, seed);
  for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_data()[i] *= 4;
  return blob;
}

const char kRelu6[] = "name: 'relu' type: 'ReLU6'";

TEST(ReLU6, ClampsToZeroAndSix) {
  auto x = BlobOf({7}, {-1, 0, 2, 6, 7, 5.5, kNaN});
  Blob<double> y;
  auto layer = MakeLayer(kRelu6);
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  const vector<double> values = DataOf(y);
  EXPECT_EQ(vector<double>(values.begin(), values.end() - 1), (vector<double>{0, 0, 2, 6, 6, 5.5}));
  EXPECT_TRUE(std::isnan(values.back()));
  std::fill_n(y.mutable_cpu_diff(), 7, 3.0);
  layer->Backward({&y}, {true}, {x.get()});
  EXPECT_EQ(DiffOf(*x), (vector<double>{0, 0, 3, 0, 0, 3, 0}));
}

TEST(ReLU6, EveryVariantGivesTheGradient) {
  for (int variant = -1; variant < 3; ++variant) {
    auto x = WideBlob({2, 3, 7}, 1);
    Blob<double> y;
    GradientChecker<double> checker(1e-4, 1e-6, 1701, 0., 0.001);
    checker.set_variant(variant);
    checker.CheckGradientExhaustive(MakeLayer(kRelu6).get(), {x.get()}, {&y});
  }
}

TEST(ReLU6, AllVariantsGiveTheSameBitsInPlaceToo) {
  auto x = WideBlob({2, 3, 7}, 2);
  x->mutable_cpu_data()[0] = 0;
  x->mutable_cpu_data()[1] = 6;
  Blob<double> y;
  CheckVariants(MakeLayer(kRelu6).get(), {x.get()}, {&y}, {true}, true);
}

string Normalize(const string& param) {
  return "name: 'norm' type: 'Normalize' norm_param { " + param + " }";
}

const char* const kNormalize[] = {
    "scale_filler { type: 'uniform' min: 1 max: 3 }",
    "channel_shared: false scale_filler { type: 'uniform' min: 1 max: 3 }",
    "across_spatial: false scale_filler { type: 'uniform' min: 1 max: 3 }",
    "across_spatial: false channel_shared: false scale_filler { type: 'uniform' min: -1 max: 3 }"};

TEST(Normalize, DividesByTheNormOverChannels) {
  auto x = BlobOf({1, 2, 1, 2}, {3, 1, 4, 0});
  Blob<double> y;
  auto layer = MakeLayer(Normalize("across_spatial: false channel_shared: false eps: 0"));
  layer->SetUp({x.get()}, {&y});
  ASSERT_EQ(layer->blobs().size(), 1u);
  EXPECT_EQ(layer->blobs()[0]->shape(), vector<int>{2});
  EXPECT_EQ(DataOf(*layer->blobs()[0]), (vector<double>{1, 1}));
  layer->blobs()[0]->mutable_cpu_data()[1] = 10;
  layer->Forward({x.get()}, {&y});
  const vector<double> expected = {0.6, 1, 8, 0};
  for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(y.cpu_data()[i], expected[i]);
}

TEST(Normalize, AcrossPositionsDividesByTheNormOfAnItem) {
  auto x = BlobOf({2, 1, 1, 2}, {3, 4, 0, 0.5});
  Blob<double> y;
  auto layer = MakeLayer(Normalize("eps: 0 scale_filler { value: 20 }"));
  layer->SetUp({x.get()}, {&y});
  EXPECT_EQ(layer->blobs()[0]->count(), 1);
  layer->Forward({x.get()}, {&y});
  const vector<double> expected = {12, 16, 0, 20};
  for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(y.cpu_data()[i], expected[i]);
}

TEST(Normalize, AddsEpsToTheSumOfSquares) {
  auto x = BlobOf({1, 2}, {0, 0}), one = BlobOf({1, 1}, {1});
  Blob<double> y;
  auto zero = MakeLayer(Normalize(""));
  zero->SetUp({x.get()}, {&y});
  zero->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{0, 0}));
  auto three = MakeLayer(Normalize("eps: 3"));
  three->SetUp({one.get()}, {&y});
  three->Forward({one.get()}, {&y});
  EXPECT_EQ(DataOf(y), vector<double>{0.5});
}

TEST(Normalize, EveryVariantGivesTheGradient) {
  for (const char* param : kNormalize) {
    for (const vector<int>& shape : {vector<int>{2, 3, 2, 2}, vector<int>{3, 4}}) {
      for (int variant = -1; variant < 2; ++variant) {
        auto x = RandomBlob(shape, 3);
        Blob<double> y;
        GradientChecker<double> checker(1e-4, 1e-5);
        checker.set_variant(variant);
        checker.CheckGradientExhaustive(MakeLayer(Normalize(param)).get(), {x.get()}, {&y});
      }
    }
  }
}

TEST(Normalize, AllVariantsGiveTheSameBitsInPlaceToo) {
  for (const char* param : kNormalize) {
    auto x = RandomBlob({3, 4, 5}, 4);
    Blob<double> y;
    CheckVariants(MakeLayer(Normalize(param)).get(), {x.get()}, {&y}, {true}, true);
    CheckVariants(MakeLayer(Normalize(param)).get(), {x.get()}, {&y}, {false}, true);
    auto fixed = MakeLayer(Normalize(param));
    fixed->set_param_propagate_down(0, false);
    CheckVariants(fixed.get(), {x.get()}, {&y}, {true}, true);
    EXPECT_TRUE(fixed->Traits({x.get()}, {&y}, {false}).backward.empty());
  }
}

TEST(NormalizeErrors, BadShapesNameTheLayer) {
  Blob<double> x(vector<int>{2, 3}), flat(vector<int>{3}), y;
  EXPECT_ERROR(MakeLayer(Normalize(""))->SetUp({&flat}, {&y}), "Layer norm: .*no channels");
  EXPECT_ERROR(MakeLayer(Normalize("eps: -1"))->SetUp({&x}, {&y}), "Layer norm: norm_param.eps");
  const string two = " blobs { shape { dim: 2 } data: 1 data: 1 }";
  for (const char* param : {"", "channel_shared: false"}) {
    EXPECT_ERROR(MakeLayer(Normalize(param) + two)->SetUp({&x}, {&y}),
                 "Layer norm: the scale has shape 2");
  }
}

const char kAxpy[] = "name: 'axpy' type: 'Axpy'";

TEST(Axpy, ScalesChannelsOfXAndAddsY) {
  auto a = BlobOf({1, 2, 1, 1}, {2, -1}), x = BlobOf({1, 2, 1, 2}, {1, 2, 3, 4}),
       y = BlobOf({1, 2, 1, 2}, {10, 20, 30, 40});
  Blob<double> f;
  auto layer = MakeLayer(kAxpy);
  layer->SetUp({a.get(), x.get(), y.get()}, {&f});
  layer->Forward({a.get(), x.get(), y.get()}, {&f});
  EXPECT_EQ(DataOf(f), (vector<double>{12, 24, 27, 36}));
}

TEST(Axpy, GivesAllGradients) {
  for (const vector<int>& a : {vector<int>{2, 3}, vector<int>{2, 3, 1, 1}}) {
    for (const int bottom : {-1, 0, 1, 2})
      CheckAllVariants(kAxpy, {a, {2, 3, 2, 2}, {2, 3, 2, 2}}, 1, 1, bottom);
  }
}

TEST(Axpy, GivesTheSameBitsWithEveryAlias) {
  auto a = RandomBlob({2, 3}, 5), x = RandomBlob({2, 3, 4}, 6), y = RandomBlob({2, 3, 4}, 7);
  Blob<double> f;
  for (int wanted = 1; wanted < 8; ++wanted) {
    CheckVariants(MakeLayer(kAxpy).get(), {a.get(), x.get(), y.get()}, {&f},
                  {(wanted & 1) != 0, (wanted & 2) != 0, (wanted & 4) != 0}, false);
  }
}

TEST(AxpyErrors, BadShapesNameTheLayer) {
  Blob<double> a(vector<int>{2, 3}), x(vector<int>{2, 3, 4}), wide(vector<int>{2, 3, 5}), f;
  EXPECT_ERROR(MakeLayer(kAxpy)->SetUp({&a, &x, &wide}, {&f}), "Layer axpy: x and y");
  EXPECT_ERROR(MakeLayer(kAxpy)->SetUp({&x, &x, &x}, {&f}), "Layer axpy: a must have one value");
  EXPECT_ERROR(MakeLayer(kAxpy)->SetUp({&a, &x, &x}, {&x}), "Layer axpy: .*in place");
}

const char kSmooth[] = "name: 'loss' type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 2 }";
const char kL1[] = "name: 'loss' type: 'L1Loss'";

TEST(SmoothL1Loss, IsQuadraticNearZeroAndLinearElsewhere) {
  auto a = BlobOf({2, 2}, {0, 0.125, 5, -2}), b = BlobOf({2, 2}, {0, 0, 4, 1});
  Blob<double> loss;
  auto layer = MakeLayer(kSmooth);
  layer->SetUp({a.get(), b.get()}, {&loss});
  EXPECT_EQ(layer->Forward({a.get(), b.get()}, {&loss}), (0.03125 + 0.875 + 2.875) / 2);
  layer->Backward({&loss}, {true, true}, {a.get(), b.get()});
  EXPECT_EQ(DiffOf(*a), (vector<double>{0, 0.25, 0.5, -0.5}));
  EXPECT_EQ(DiffOf(*b), (vector<double>{0, -0.25, -0.5, 0.5}));
}

TEST(SmoothL1Loss, AppliesWeightsInsideAndOutsideTheFunction) {
  auto a = BlobOf({1, 2}, {1, 2}), b = BlobOf({1, 2}, {0, 0}), in = BlobOf({1, 2}, {0, 2}),
       out = BlobOf({1, 2}, {5, 3});
  Blob<double> loss;
  auto layer = MakeLayer(kSmooth);
  layer->SetUp({a.get(), b.get(), in.get(), out.get()}, {&loss});
  EXPECT_EQ(layer->Forward({a.get(), b.get(), in.get(), out.get()}, {&loss}), 3 * 3.875);
  layer->Backward({&loss}, {true, false, false, false}, {a.get(), b.get(), in.get(), out.get()});
  EXPECT_EQ(DiffOf(*a), (vector<double>{0, 6}));
}

TEST(SmoothL1Loss, GivesTheGradient) {
  for (size_t bottoms = 2; bottoms <= 4; ++bottoms) {
    const vector<vector<int>> shapes(bottoms, {3, 2, 2});
    for (const int bottom : {0, 1}) CheckAllVariants(kSmooth, shapes, 1, 1, bottom);
  }
}

TEST(AbsoluteLosses, AreZeroForAnEmptyBatch) {
  for (const char* text : {kSmooth, kL1}) {
    LayerCase loss(text, {{0, 3}, {0, 3}}, 1);
    loss.SetUp();
    EXPECT_EQ(loss.layer->Forward(loss.bottom, loss.top), 0) << text;
  }
}

TEST(L1Loss, IsTheDistancePerSample) {
  auto a = BlobOf({2, 2}, {0, 0.5, 5, -2}), b = BlobOf({2, 2}, {0, 0, 4, 1});
  Blob<double> loss;
  auto layer = MakeLayer(kL1);
  layer->SetUp({a.get(), b.get()}, {&loss});
  EXPECT_EQ(layer->Forward({a.get(), b.get()}, {&loss}), 2.25);
  layer->Backward({&loss}, {true, true}, {a.get(), b.get()});
  EXPECT_EQ(DiffOf(*a), (vector<double>{0, 0.5, 0.5, -0.5}));
  EXPECT_EQ(DiffOf(*b), (vector<double>{0, -0.5, -0.5, 0.5}));
}

TEST(L1Loss, GivesTheGradient) {
  for (const int bottom : {-1, 0, 1}) CheckAllVariants(kL1, {{3, 4}, {3, 4}}, 1, 1, bottom);
}

TEST(AbsoluteLosses, GiveTheSameBitsWithEveryAlias) {
  auto a = RandomBlob({3, 4}, 8), b = RandomBlob({3, 4}, 9), in = RandomBlob({3, 4}, 10),
       out = RandomBlob({3, 4}, 11);
  Blob<double> loss;
  for (const vector<bool>& wanted : kWhichOfTwo) {
    CheckVariants(MakeLayer(kL1).get(), {a.get(), b.get()}, {&loss}, wanted, false);
    CheckVariants(MakeLayer(kSmooth).get(), {a.get(), b.get()}, {&loss}, wanted, false);
    CheckVariants(MakeLayer(kSmooth).get(), {a.get(), b.get(), in.get(), out.get()}, {&loss},
                  {wanted[0], wanted[1], false, false}, false);
  }
}

TEST(AbsoluteLosses, OnlyTheComparedBottomsTakeAGradient) {
  auto layer = MakeLayer(kSmooth);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(layer->AllowForceBackward(i), i < 2);
}

TEST(AbsoluteLossesErrors, BadInputNamesTheLayer) {
  Blob<double> a(vector<int>{3, 4}), b(vector<int>{3, 5}), loss;
  for (const char* layer : {kL1, kSmooth})
    EXPECT_ERROR(MakeLayer(layer)->SetUp({&a, &b}, {&loss}), "Layer loss: Inputs must have");
  EXPECT_ERROR(MakeLayer(kSmooth)->SetUp({&a, &a, &b}, {&loss}), "Layer loss: Inputs must have");
  EXPECT_ERROR(MakeLayer("name: 'loss' type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 0 }")
                   ->SetUp({&a, &a}, {&loss}),
               "Layer loss: smooth_l1_loss_param.sigma must be positive");
}

/// Weights may come from layers that learn, as in the nets of Faster R-CNN.
TEST(AbsoluteLosses, GiveWeightsNoGradient) {
  auto a = RandomBlob({3, 4}, 8), b = RandomBlob({3, 4}, 9), weights = RandomBlob({3, 4}, 10);
  Blob<double> loss;
  const vector<Blob<double>*> bottom = {a.get(), b.get(), weights.get()};
  auto layer = MakeLayer(kSmooth);
  layer->SetUp(bottom, {&loss});
  layer->Forward(bottom, {&loss});
  layer->Backward({&loss}, {true, false, false}, bottom);
  const vector<double> expected = DiffOf(*a);
  layer->Backward({&loss}, {true, false, true}, bottom);
  EXPECT_EQ(DiffOf(*a), expected);
  EXPECT_EQ(DiffOf(*weights), vector<double>(12));
  const MemoryTraits traits = layer->Traits(bottom, {&loss}, {false, false, true});
  EXPECT_TRUE(traits.backward.empty());
}

string PriorBox(const string& param) {
  return "name: 'prior' type: 'PriorBox' prior_box_param { " + param + " }";
}

TEST(PriorBox, PutsBoxesOfEachSizeAndShapeAroundEachPosition) {
  Blob<double> map(vector<int>{2, 3, 1, 2}), image(vector<int>{2, 3, 50, 100}), y;
  auto layer = MakeLayer(PriorBox("min_size: 4 max_size: 9 aspect_ratio: 4 aspect_ratio: 1"));
  layer->SetUp({&map, &image}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{1, 2, 2 * 4 * 4}));
  layer->Forward({&map, &image}, {&y});
  const double sizes[4][2] = {{4, 4}, {6, 6}, {8, 2}, {2, 8}};
  for (int w = 0; w < 2; ++w) {
    const double x_at = 25 + 50 * w, y_at = 25;
    for (int box = 0; box < 4; ++box) {
      const double half_w = sizes[box][0] / 2, half_h = sizes[box][1] / 2;
      const double* corners = y.cpu_data() + (w * 4 + box) * 4;
      EXPECT_DOUBLE_EQ(corners[0], (x_at - half_w) / 100);
      EXPECT_DOUBLE_EQ(corners[1], (y_at - half_h) / 50);
      EXPECT_DOUBLE_EQ(corners[2], (x_at + half_w) / 100);
      EXPECT_DOUBLE_EQ(corners[3], (y_at + half_h) / 50);
    }
  }
  for (int i = 32; i < 64; ++i) EXPECT_FLOAT_EQ(y.cpu_data()[i], 0.1f);
}

TEST(PriorBox, ClipsAndTakesStepsOffsetSizeAndVariances) {
  Blob<double> map(vector<int>{1, 1, 1, 1}), image(vector<int>{1, 3, 7, 7}), y;
  auto layer = MakeLayer(
      PriorBox("min_size: 8 clip: true step_w: 8 step_h: 4 offset: 0.25 img_w: 16 img_h: 8 "
               "variance: 1 variance: 2 variance: 3 variance: 4"));
  layer->SetUp({&map, &image}, {&y});
  layer->Forward({&map, &image}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{0, 0, 0.375, 0.625, 1, 2, 3, 4}));
}

TEST(PriorBox, ReadsOnlyShapesAndHasAGradientOfZero) {
  auto map = RandomBlob({1, 2, 3, 2}, 12), image = RandomBlob({1, 3, 6, 4}, 13);
  Blob<double> y;
  auto layer = MakeLayer(PriorBox("min_size: 2 min_size: 3 aspect_ratio: 2 flip: false"));
  CheckVariants(layer.get(), {map.get(), image.get()}, {&y}, {true, true}, false);
  EXPECT_TRUE(layer->Traits({map.get(), image.get()}, {&y}, {true, true}).forward.reads.empty());
  EXPECT_TRUE(layer->Traits({map.get(), image.get()}, {&y}, {false, false}).backward.empty());
  EXPECT_EQ(y.count(2), 3 * 2 * 4 * 4);
  layer->Backward({&y}, {true, false}, {map.get(), image.get()});
  EXPECT_EQ(DiffOf(*map), vector<double>(12, 0));
}

TEST(PriorBoxErrors, BadParametersNameTheLayer) {
  Blob<double> x(vector<int>{1, 1, 2, 2}), flat(vector<int>{1, 2}), y;
  const auto fails = [&](const string& param, const char* said) {
    EXPECT_ERROR(MakeLayer(PriorBox(param))->SetUp({&x, &x}, {&y}), said) << param;
  };
  fails("", "Layer prior: prior_box_param needs a min_size");
  fails("min_size: -1", "Layer prior: min_size, .*must be positive");
  fails("min_size: 1 aspect_ratio: 0", "Layer prior: .*must be positive");
  fails("min_size: 1 min_size: 2 max_size: 3", "Layer prior: .*a max_size for each min_size");
  fails("min_size: 2 max_size: 2", "Layer prior: max_size must be greater");
  fails("min_size: 2 variance: 1 variance: 1", "Layer prior: .*one variance or four, not 2");
  fails("min_size: 2 img_size: 4 img_h: 4", "Layer prior: either img_size or");
  fails("min_size: 2 img_h: 4", "Layer prior: img_h and img_w must be given together");
  fails("min_size: 2 img_size: 0", "Layer prior: the image's size must be positive");
  fails("min_size: 2 step: 1 step_w: 1", "Layer prior: either step or");
  fails("min_size: 2 step_h: 1", "Layer prior: step_h and step_w must be given together");
  fails("min_size: 2 step: 0", "Layer prior: steps must be positive");
  EXPECT_ERROR(MakeLayer(PriorBox("min_size: 2"))->SetUp({&flat, &x}, {&y}),
               "Layer prior: bottoms must have four axes");
}

}  // namespace
}  // namespace caffe
