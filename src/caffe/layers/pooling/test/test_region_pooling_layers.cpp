// ROIPooling and PSROIPooling.
#include <cmath>
#include <map>
#include <numeric>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string ROIPooling(const string& param) {
  return "name: 'roi' type: 'ROIPooling' roi_pooling_param { " + param + " }";
}

string PSROIPooling(const string& param) {
  return "name: 'roi' type: 'PSROIPooling' psroi_pooling_param { " + param + " }";
}

/// A blob of distinct values, far apart and in no order.
std::unique_ptr<Blob<double>> Different(const vector<int>& shape) {
  auto blob = std::make_unique<Blob<double>>(shape);
  for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_data()[i] = i * 7919 % 1009 / 100. - 5;
  return blob;
}

std::unique_ptr<Blob<double>> Numbers(const vector<int>& shape) {
  auto blob = std::make_unique<Blob<double>>(shape);
  std::iota(blob->mutable_cpu_data(), blob->mutable_cpu_data() + blob->count(), 0.0);
  return blob;
}

/// Regions of two items: inside the map, across its borders, outside of it, of one position, of no
/// size and with swapped corners. The first overlaps others.
std::unique_ptr<Blob<double>> Regions() {
  return BlobOf({8, 5}, {0, 0,  0, 11, 9, 1, 3, 1, 8, 7, 0, 2, 2, 9, 8, 1, -6, -4, 5, 30,
                         1, 40, 2, 50, 6, 0, 5, 5, 5, 5, 1, 8, 6, 3, 2, 0, 1,  3,  4, 5});
}

vector<double> TopOf(const string& layer, Blob<double>* x, Blob<double>* regions,
                     const vector<int>& shape) {
  Blob<double> y;
  auto made = MakeLayer(layer);
  made->SetUp({x, regions}, {&y});
  EXPECT_EQ(y.shape(), shape);
  made->Forward({x, regions}, {&y});
  return DataOf(y);
}

/// Checks the gradient of the maps, and that only declared operands are touched.
void CheckGradients(const string& text, Blob<double>* x) {
  auto regions = Regions();
  const vector<Blob<double>*> bottom = {x, regions.get()};
  Blob<double> y;
  for (int variant = -1; variant < 1; ++variant) {
    GradientChecker<double> checker(1e-4, 1e-6);
    checker.set_variant(variant);
    checker.CheckGradientExhaustive(MakeLayer(text).get(), bottom, {&y}, 0);
  }
  auto layer = MakeLayer(text);
  CheckVariants(layer.get(), bottom, {&y}, {true, false}, false);
  EXPECT_EQ(layer->Traits(bottom, {&y}, {true, true}).backward.size(), 1u);
  EXPECT_TRUE(layer->Traits(bottom, {&y}, {false, true}).backward.empty());
  EXPECT_TRUE(layer->AllowForceBackward(0));
  EXPECT_FALSE(layer->AllowForceBackward(1));
}

TEST(ROIPooling, TakesTheMaximumOfEachBin) {
  auto x = Numbers({2, 1, 4, 4});
  auto regions = BlobOf({3, 5}, {0, 0, 0, 3, 3, 1, 1, 0, 3, 1, 0, 2, 2, 2, 2});
  EXPECT_EQ(TopOf(ROIPooling("pooled_h: 2 pooled_w: 2"), x.get(), regions.get(), {3, 1, 2, 2}),
            (vector<double>{5, 7, 13, 15,
                            // 2 x 3 places from row 0, column 1: the bins share the middle column.
                            18, 19, 22, 23,
                            // One place: all bins have it.
                            10, 10, 10, 10}));
}

TEST(ROIPooling, RoundsScaledCornersAndGivesZeroForBinsOutsideTheMap) {
  auto x = Numbers({1, 1, 2, 4});
  // Columns 1 to 2 of row 1; half outside; wholly outside.
  auto regions = BlobOf({3, 5}, {0, 2.9, 2, 3.2, 2, 0, 4, 0, 10, 0, 0, 20, 0, 30, 2});
  EXPECT_EQ(TopOf(ROIPooling("pooled_h: 1 pooled_w: 2 spatial_scale: 0.5"), x.get(), regions.get(),
                  {3, 1, 1, 2}),
            (vector<double>{5, 6, 3, 0, 0, 0}));
}

TEST(ROIPooling, GivesTheGradient) {
  auto x = Different({2, 2, 5, 6});
  for (const char* param :
       {"pooled_h: 2 pooled_w: 3 spatial_scale: 0.5", "pooled_h: 7 pooled_w: 1 spatial_scale: 0.5",
        "pooled_h: 3 pooled_w: 3"}) {
    CheckGradients(ROIPooling(param), x.get());
  }
}

TEST(ROIPooling, TheGradientGoesToTheMaxima) {
  auto x = Different({2, 2, 5, 6});
  auto regions = Regions();
  Blob<double> y;
  auto layer = MakeLayer(ROIPooling("pooled_h: 3 pooled_w: 2 spatial_scale: 0.5"));
  layer->SetUp({x.get(), regions.get()}, {&y});
  layer->Forward({x.get(), regions.get()}, {&y});
  for (int i = 0; i < y.count(); ++i) y.mutable_cpu_diff()[i] = i + 1;
  layer->Backward({&y}, {true, false}, {x.get(), regions.get()});
  // Each value of the top that is not from an empty bin equals exactly one value of the bottom.
  std::map<double, double> expected;
  for (int i = 0; i < y.count(); ++i) expected[y.cpu_data()[i]] += i + 1;
  for (int i = 0; i < x->count(); ++i) {
    const auto it = expected.find(x->cpu_data()[i]);
    EXPECT_EQ(x->cpu_diff()[i], it == expected.end() ? 0 : it->second) << i;
  }
}

TEST(ROIPooling, AcceptsZeroRegions) {
  auto x = Different({1, 2, 5, 6});
  Blob<double> regions(vector<int>{0, 5}), y;
  auto layer = MakeLayer(ROIPooling("pooled_h: 3 pooled_w: 2"));
  layer->SetUp({x.get(), &regions}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{0, 2, 3, 2}));
  layer->Forward({x.get(), &regions}, {&y});
  std::fill_n(x->mutable_cpu_diff(), x->count(), 1.0);
  layer->Backward({&y}, {true, false}, {x.get(), &regions});
  EXPECT_EQ(DiffOf(*x), vector<double>(x->count(), 0));
}

TEST(ROIPooling, TreatsNaNAndHugeCornersAsOutsideTheMap) {
  auto x = Different({1, 1, 5, 6});
  const double kHuge = 1e300, kNaN = std::nan("");
  auto regions =
      BlobOf({3, 5}, {0, kNaN, 0, kNaN, 2, 0, kHuge, 0, kHuge, 2, 0, -kHuge, 0, -kHuge, 2});
  EXPECT_EQ(TopOf(ROIPooling("pooled_h: 1 pooled_w: 1"), x.get(), regions.get(), {3, 1, 1, 1}),
            vector<double>(3, 0));
}

TEST(PSROIPooling, TakesTheMeanOfEachBinInChannelsOfItsOwn) {
  auto x = Numbers({1, 8, 2, 2});
  auto regions = BlobOf({2, 5}, {0, 0, 0, 1, 1, 0, 0, 0, 0, 1});
  EXPECT_EQ(TopOf(PSROIPooling("output_dim: 2 group_size: 2 spatial_scale: 1"), x.get(),
                  regions.get(), {2, 2, 2, 2}),
            // The places (0, 0), (0, 1), (1, 0), (1, 1) of channels 0 to 3, then of 4 to 7.
            (vector<double>{0, 5, 10, 15, 16, 21, 26, 31,
                            // One column: the bins are half a place wide, and have it both.
                            0, 4, 10, 14, 16, 20, 26, 30}));
}

TEST(PSROIPooling, RegionsAreAtLeastATenthOfAPositionWide) {
  auto x = Numbers({1, 1, 2, 2});
  auto regions = BlobOf({2, 5}, {0, 1, 1, -3, -3, 0, 9, 9, 9, 9});
  EXPECT_EQ(TopOf(PSROIPooling("output_dim: 1 group_size: 1 spatial_scale: 1"), x.get(),
                  regions.get(), {2, 1, 1, 1}),
            (vector<double>{3, 0}));
}

TEST(PSROIPooling, GivesTheGradient) {
  auto x = RandomBlob({2, 8, 4, 5}, 1);
  for (const double scale : {1.0, 0.5, 0.3}) {
    CheckGradients(
        PSROIPooling("output_dim: 2 group_size: 2 spatial_scale: " + std::to_string(scale)),
        x.get());
  }
}

TEST(RegionPoolingErrors, BadInputNamesTheLayer) {
  Blob<double> x(vector<int>{1, 4, 2, 2}), flat(vector<int>{4}), four(vector<int>{3, 4}), y;
  auto regions = BlobOf({2, 5}, {0, 0, 0, 1, 1, 1, 0, 0, 1, 1});
  const string roi = ROIPooling("pooled_h: 1 pooled_w: 1");
  const string parts = PSROIPooling("output_dim: 1 group_size: 2 spatial_scale: 1");
  for (const string& text : {roi, parts}) {
    EXPECT_ERROR(MakeLayer(text)->SetUp({&flat, regions.get()}, {&y}),
                 "Layer roi: the maps must have four axes");
    EXPECT_ERROR(MakeLayer(text)->SetUp({&x, &four}, {&y}),
                 "Layer roi: a region is five values.*have shape 3 4");
    auto layer = MakeLayer(text);
    layer->SetUp({&x, regions.get()}, {&y});
    // In GPU mode the host does not look.
    if (Caffe::mode() == Caffe::CPU) {
      EXPECT_ERROR(layer->Forward({&x, regions.get()}, {&y}),
                   "Layer roi: region 1 is of item 1, but must be of 0 to 0");
    } else {
      layer->Forward({&x, regions.get()}, {&y});
      EXPECT_EQ(y.cpu_data()[0], x.cpu_data()[0]);
    }
  }
  const auto fails = [&](const string& text, const char* said) {
    EXPECT_ERROR(MakeLayer(text)->SetUp({&x, regions.get()}, {&y}), said) << text;
  };
  fails(ROIPooling("pooled_h: 1"), "Layer roi: roi_pooling_param needs pooled_h and pooled_w");
  fails(ROIPooling("pooled_h: 1 pooled_w: 1 spatial_scale: 0"),
        "Layer roi: spatial_scale must be positive");
  fails(PSROIPooling("output_dim: 1 group_size: 0 spatial_scale: 1"),
        "Layer roi: psroi_pooling_param needs output_dim and group_size");
  fails(PSROIPooling("output_dim: 1 group_size: 2 spatial_scale: 0"),
        "Layer roi: spatial_scale must be positive");
  fails(PSROIPooling("output_dim: 2 group_size: 2 spatial_scale: 1"),
        "Layer roi: output_dim 2 and group_size 2 need 8 channels; the maps have shape 1 4 2 2");
}

}  // namespace
}  // namespace caffe
