#include <cmath>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string Mvn(const string& param = "") {
  return "name: 'mvn' type: 'MVN' mvn_param { " + param + " }";
}

const char kMeanOnly[] = "normalize_variance: false";
const char kAcross[] = "across_channels: true";
const char kMeanAcross[] = "normalize_variance: false across_channels: true";

struct Moments {
  double mean = 0, variance = 0;
};

Moments MomentsOf(const double* values, int n) {
  Moments moments;
  for (int i = 0; i < n; ++i) moments.mean += values[i] / n;
  for (int i = 0; i < n; ++i) moments.variance += std::pow(values[i] - moments.mean, 2) / n;
  return moments;
}

struct MvnCase {
  const char* param;
  vector<int> shape;
  int row;  ///< values that are normalised together
  bool variance;
};

const MvnCase kCases[] = {
    {"", {2, 3, 4, 5}, 20, true},         {kAcross, {2, 3, 4, 5}, 60, true},
    {kMeanOnly, {2, 3, 4, 5}, 20, false}, {kMeanAcross, {2, 3, 4, 5}, 60, false},
    {"", {2, 2, 3, 2, 2}, 12, true},      {kAcross, {3, 7}, 7, true},
    {kMeanAcross, {3, 7}, 7, false},
};

TEST(MVNLayer, NormalisesEachRow) {
  for (const MvnCase& c : kCases) {
    auto x = RandomBlob(c.shape, 1);
    Blob<double> y;
    auto layer = MakeLayer(Mvn(c.param));
    layer->SetUp({x.get()}, {&y});
    ASSERT_EQ(y.shape(), c.shape);
    layer->Forward({x.get()}, {&y});
    for (int begin = 0; begin < y.count(); begin += c.row) {
      const Moments before = MomentsOf(x->cpu_data() + begin, c.row),
                    after = MomentsOf(y.cpu_data() + begin, c.row);
      EXPECT_NEAR(after.mean, 0, 1e-12);
      EXPECT_NEAR(after.variance, c.variance ? 1 : before.variance, 1e-7);
    }
  }
}

TEST(MVNLayer, AddsEpsToTheDeviation) {
  auto x = BlobOf({1, 2, 2}, {1, 5, 3, 3});
  Blob<double> y;
  auto layer = MakeLayer(Mvn("eps: 2"));
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{-0.5, 0.5, 0, 0}));
}

TEST(MVNLayer, FewAxesGiveRowsOfOneValue) {
  for (const vector<int>& shape : {vector<int>{}, vector<int>{3}, vector<int>{3, 2}}) {
    auto x = RandomBlob(shape, 2);
    Blob<double> y;
    auto layer = MakeLayer(Mvn());
    layer->SetUp({x.get()}, {&y});
    layer->Forward({x.get()}, {&y});
    EXPECT_EQ(DataOf(y), vector<double>(x->count(), 0.0));
  }
}

TEST(MVNLayer, EveryVariantGivesTheGradient) {
  for (const MvnCase& c : kCases) {
    vector<int> shape = c.shape;
    for (int& size : shape) size = std::min(size, c.shape.size() > 2 ? 2 : 5);
    for (int variant = -1; variant < (c.variance ? 3 : 1); ++variant) {
      auto x = RandomBlob(shape, 3);
      Blob<double> y;
      GradientChecker<double> checker(1e-4, 1e-4);
      checker.set_variant(variant);
      checker.CheckGradientExhaustive(MakeLayer(Mvn(c.param)).get(), {x.get()}, {&y});
    }
  }
}

TEST(MVNLayer, AllVariantsGiveTheSameBitsInPlaceToo) {
  for (const MvnCase& c : kCases) {
    auto x = RandomBlob(c.shape, 4);
    Blob<double> y;
    CheckVariants(MakeLayer(Mvn(c.param)).get(), {x.get()}, {&y}, {true}, true);
  }
}

TEST(MVNLayer, NeedsNoFullSizeWorkspace) {
  auto x = RandomBlob({3, 2, 4, 5}, 5);
  Blob<double> y;
  for (const char* param : {"", kMeanOnly}) {
    auto layer = MakeLayer(Mvn(param));
    layer->SetUp({x.get()}, {&y});
    const MemoryTraits traits = layer->Traits({x.get()}, {&y}, {true});
    EXPECT_LE(traits.forward.workspace_bytes, 2 * 6 * 8);
    for (const OperandVariant& variant : traits.backward)
      EXPECT_LE(variant.workspace_bytes, 2 * 6 * 8);
    EXPECT_TRUE(layer->Traits({x.get()}, {&y}, {false}).backward.empty());
  }
}

TEST(MVNLayer, TakesAnEmptyBatch) {
  for (const char* param : {"", kAcross, kMeanOnly}) {
    Blob<double> x(vector<int>{0, 3, 2}), y;
    auto layer = MakeLayer(Mvn(param));
    layer->SetUp({&x}, {&y});
    layer->Forward({&x}, {&y});
    layer->Backward({&y}, {true}, {&x});
    EXPECT_EQ(y.shape(), x.shape());
  }
}

}  // namespace
}  // namespace caffe
