// Interp and Upsample, which resize maps.
#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Interp(const string& param) {
  return "name: 'size' type: 'Interp' interp_param { " + param + " }";
}

string Upsample(const string& param) {
  return "name: 'size' type: 'Upsample' upsample_param { " + param + " }";
}

/// The top of `layer`, which must have rows x columns values in each plane.
vector<double> TopOf(const string& layer, const vector<Blob<double>*>& bottom, int rows,
                     int columns) {
  Blob<double> y;
  auto made = MakeLayer(layer);
  made->SetUp(bottom, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{bottom[0]->shape(0), bottom[0]->shape(1), rows, columns}));
  made->Forward(bottom, {&y});
  return DataOf(y);
}

TEST(Interp, AlignsCornersAndInterpolatesBetweenThem) {
  auto x = BlobOf({1, 1, 2, 2}, {0, 4, 8, 12});
  EXPECT_EQ(TopOf(Interp("height: 3 width: 5"), {x.get()}, 3, 5),
            (vector<double>{0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12}));
  auto wide = BlobOf({1, 1, 1, 5}, {0, 1, 2, 3, 4});
  EXPECT_EQ(TopOf(Interp("height: 2 width: 3"), {wide.get()}, 2, 3),
            (vector<double>{0, 2, 4, 0, 2, 4}));
  EXPECT_EQ(TopOf(Interp("height: 1 width: 1"), {wide.get()}, 1, 1), vector<double>{0});
}

TEST(Interp, TakesItsSizeFromFactorsOrASecondBottom) {
  auto x = RandomBlob({2, 3, 5, 9}, 1), like = RandomBlob({1, 1, 6, 4}, 2);
  TopOf(Interp("zoom_factor: 3"), {x.get()}, 13, 25);
  TopOf(Interp("shrink_factor: 3"), {x.get()}, 2, 3);
  TopOf(Interp("shrink_factor: 2 zoom_factor: 4"), {x.get()}, 9, 17);
  TopOf(Interp("pad_beg: -1 pad_end: -2 zoom_factor: 2"), {x.get()}, 3, 11);
  EXPECT_EQ(TopOf(Interp(""), {x.get(), like.get()}, 6, 4),
            TopOf(Interp("height: 6 width: 4"), {x.get()}, 6, 4));
  EXPECT_EQ(TopOf(Interp("zoom_factor: 1"), {x.get()}, 5, 9), DataOf(*x));
}

TEST(Interp, CutsOffBordersBeforeItResizes) {
  auto x = BlobOf({1, 1, 4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  EXPECT_EQ(TopOf(Interp("pad_beg: -1 pad_end: -1 height: 2 width: 3"), {x.get()}, 2, 3),
            (vector<double>{5, 5.5, 6, 9, 9.5, 10}));
}

TEST(Interp, GivesTheGradient) {
  const vector<int> shape = {2, 2, 4, 5};
  for (const char* param :
       {"height: 7 width: 9", "height: 3 width: 2", "height: 1 width: 8", "height: 4 width: 5",
        "zoom_factor: 3", "shrink_factor: 2", "pad_beg: -1 pad_end: -2 height: 3 width: 5"}) {
    CheckAllVariants(Interp(param), {shape}, 1, 1);
    auto x = RandomBlob(shape, 3);
    Blob<double> y;
    CheckVariants(MakeLayer(Interp(param)).get(), {x.get()}, {&y}, {true}, false);
  }
  CheckAllVariants(Interp("height: 3 width: 3"), {{1, 2, 1, 1}}, 1, 1);
  CheckAllVariants(Interp(""), {shape, {1, 1, 3, 8}}, 1, 1, 0);
}

TEST(Interp, TheSecondBottomGivesOnlyItsShape) {
  auto x = RandomBlob({2, 2, 4, 5}, 4), like = RandomBlob({1, 1, 3, 8}, 5);
  Blob<double> y;
  auto layer = MakeLayer(Interp(""));
  CheckVariants(layer.get(), {x.get(), like.get()}, {&y}, {true, false}, false);
  EXPECT_EQ(layer->Traits({x.get(), like.get()}, {&y}, {true, true}).forward.reads,
            (vector<Operand>{BottomData(0)}));
  EXPECT_TRUE(layer->Traits({x.get(), like.get()}, {&y}, {false, true}).backward.empty());
  EXPECT_TRUE(layer->AllowForceBackward(0));
  EXPECT_FALSE(layer->AllowForceBackward(1));
}

TEST(InterpErrors, BadParametersNameTheLayer) {
  Blob<double> x(vector<int>{1, 1, 2, 3}), flat(vector<int>{4}), y;
  const auto fails = [&](const string& param, const char* said) {
    EXPECT_ERROR(MakeLayer(Interp(param))->SetUp({&x}, {&y}), said) << param;
  };
  fails("", "Layer size: the size of the top must be given once");
  fails("height: 2 width: 2 zoom_factor: 2", "Layer size: the size of the top must be given once");
  fails("height: 2", "Layer size: height and width must be given together");
  fails("height: 2 width: 0", "Layer size: height and width must be positive");
  fails("zoom_factor: 0", "Layer size: zoom_factor and shrink_factor must be positive");
  fails("zoom_factor: 2147483647", "Layer size: zoom_factor 2147483647 makes the top too large");
  fails("zoom_factor: 2 pad_beg: 1", "Layer size: pad_beg and pad_end must be 0 or less");
  fails("zoom_factor: 2 pad_beg: -1 pad_end: -1", "Layer size: pad_beg -1 and pad_end -1 leave");
  EXPECT_ERROR(MakeLayer(Interp("zoom_factor: 2"))->SetUp({&flat}, {&y}),
               "Layer size: bottoms must have four axes");
  EXPECT_ERROR(MakeLayer(Interp("zoom_factor: 2"))->SetUp({&x}, {&x}),
               "Layer size: Interp cannot run in place");
}

TEST(Upsample, RepeatsEachValue) {
  auto x = BlobOf({1, 2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(TopOf(Upsample("scale: 2"), {x.get()}, 2, 4),
            (vector<double>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  EXPECT_EQ(TopOf("name: 'size' type: 'Upsample'", {x.get()}, 2, 4),
            TopOf(Upsample("scale_h: 2 scale_w: 2"), {x.get()}, 2, 4));
  EXPECT_EQ(TopOf(Upsample("scale_h: 1 scale_w: 3"), {x.get()}, 1, 6),
            (vector<double>{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}));
}

TEST(Upsample, GivesTheGradientOfRepeatedValues) {
  for (const char* param : {"scale: 1", "scale: 3", "scale_h: 2 scale_w: 3"}) {
    CheckAllVariants(Upsample(param), {{2, 2, 3, 2}}, 1, 1);
    auto x = RandomBlob({2, 2, 3, 2}, 6);
    Blob<double> y;
    CheckVariants(MakeLayer(Upsample(param)).get(), {x.get()}, {&y}, {true}, false);
  }
}

TEST(Upsample, PutsValuesWhereTheMaskSays) {
  auto x = BlobOf({1, 2, 1, 2}, {1, 2, 3, 4}), mask = BlobOf({1, 2, 1, 2}, {5, 2, 0, 7});
  EXPECT_EQ(TopOf(Upsample("scale: 2"), {x.get(), mask.get()}, 2, 4),
            (vector<double>{0, 0, 2, 0, 0, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4}));
}

TEST(Upsample, KeepsTheLastOfSeveralValuesForOneIndex) {
  auto x = BlobOf({1, 1, 1, 3}, {1, 2, 3}), mask = BlobOf({1, 1, 1, 3}, {1, 1, 0});
  EXPECT_EQ(TopOf(Upsample("upsample_h: 1 upsample_w: 4"), {x.get(), mask.get()}, 1, 4),
            (vector<double>{3, 2, 0, 0}));
}

TEST(Upsample, TakesItsSizeFromScalesOrAsGiven) {
  auto x = RandomBlob({2, 3, 4, 5}, 7);
  Blob<double> mask(x->shape());
  std::fill_n(mask.mutable_cpu_data(), mask.count(), 0.0);
  TopOf(Upsample("scale: 3"), {x.get(), &mask}, 12, 15);
  TopOf(Upsample("scale: 2 pad_out_h: true"), {x.get(), &mask}, 7, 10);
  TopOf(Upsample("scale: 2 pad_out_w: true"), {x.get(), &mask}, 8, 9);
  TopOf(Upsample("scale_h: 2 scale_w: 3"), {x.get(), &mask}, 8, 15);
  TopOf(Upsample("scale: 2 upsample_h: 5 upsample_w: 3"), {x.get(), &mask}, 5, 3);
}

/// Values, and the mask of a max pooling of windows that do not overlap.
struct Pooled {
  Pooled() : image(RandomBlob({2, 2, 5, 6}, 8)) {
    auto pooling =
        MakeLayer("type: 'Pooling' pooling_param { pool: MAX kernel_size: 2 stride: 2 }");
    pooling->SetUp({image.get()}, {&values, &mask});
    pooling->Forward({image.get()}, {&values, &mask});
  }
  std::unique_ptr<Blob<double>> image;
  Blob<double> values, mask;
};

TEST(Upsample, RestoresMaximaToTheirPositions) {
  Pooled pooled;
  const vector<double> y =
      TopOf(Upsample("scale: 2 pad_out_h: true"), {&pooled.values, &pooled.mask}, 5, 6);
  int found = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] == 0) continue;
    EXPECT_EQ(y[i], pooled.image->cpu_data()[i]);
    ++found;
  }
  EXPECT_EQ(found, pooled.values.count());
}

TEST(Upsample, GivesTheGradientWithAMask) {
  const string text = Upsample("scale: 2 pad_out_h: true");
  Pooled pooled;
  const vector<Blob<double>*> bottom = {&pooled.values, &pooled.mask};
  Blob<double> y;
  for (int variant = -1; variant < 1; ++variant) {
    GradientChecker<double> checker(1e-4, 1e-6);
    checker.set_variant(variant);
    checker.CheckGradientExhaustive(MakeLayer(text).get(), bottom, {&y}, 0);
  }
  auto layer = MakeLayer(text);
  CheckVariants(layer.get(), bottom, {&y}, {true, false}, false);
  EXPECT_TRUE(layer->Traits(bottom, {&y}, {false, true}).backward.empty());
  EXPECT_FALSE(layer->AllowForceBackward(1));
}

TEST(UpsampleErrors, BadInputNamesTheLayer) {
  Blob<double> x(vector<int>{1, 1, 2, 3}), other(vector<int>{1, 1, 2, 2}), flat(vector<int>{4}), y;
  const auto fails = [&](const string& param, const char* said) {
    EXPECT_ERROR(MakeLayer(Upsample(param))->SetUp({&x}, {&y}), said) << param;
  };
  fails("scale: 0", "Layer size: a scale must be from 1 to");
  fails("scale: 2147483647", "Layer size: the top cannot have");
  fails("scale_h: 2", "Layer size: scale_h and scale_w must be given together");
  fails("scale: 2 scale_h: 2 scale_w: 2", "Layer size: either scale or scale_h and scale_w");
  fails("upsample_h: 2", "Layer size: upsample_h and upsample_w must be given together");
  fails("upsample_h: 2 upsample_w: 2", "Layer size: .*need a mask");
  fails("pad_out_w: true", "Layer size: .*need a mask");
  EXPECT_ERROR(MakeLayer(Upsample(""))->SetUp({&flat}, {&y}),
               "Layer size: bottoms must have four axes");
  EXPECT_ERROR(MakeLayer(Upsample(""))->SetUp({&x, &other}, {&y}),
               "Layer size: the mask has shape 1 1 2 2");
  EXPECT_ERROR(MakeLayer(Upsample(""))->SetUp({&x}, {&x}),
               "Layer size: Upsample cannot run in place");
  auto layer = MakeLayer(Upsample(""));
  auto mask = BlobOf({1, 1, 2, 3}, {0, 1, 2, 24, 4, 5});
  layer->SetUp({&x, mask.get()}, {&y});
  // In GPU mode the host does not look.
  if (Caffe::mode() == Caffe::CPU) {
    EXPECT_ERROR(layer->Forward({&x, mask.get()}, {&y}), "Layer size: value 3 .* is 24");
  } else {
    layer->Forward({&x, mask.get()}, {&y});
    EXPECT_EQ(y.cpu_data()[4], x.cpu_data()[4]);
  }
}

}  // namespace
}  // namespace caffe
