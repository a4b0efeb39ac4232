#include <cmath>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

struct PowerCase {
  double power, scale, shift;
  vector<string> variants;
};

const vector<string> kConstant = {"constant"}, kFromX = {"x", "saved"},
                     kFromY = {"y", "x", "saved"};
// Shifts keep the base positive where the power is no integer.
const PowerCase kCases[] = {
    {1, 1, 0, kConstant},      {1, -2, 3, kConstant},   {0, 2, 1, kConstant},
    {2.5, 0, 4, kConstant},    {2, 1, 0, kFromX},       {2, 0.5, -1, kFromX},
    {3, 0.5, 1, kFromX},       {2.5, 0.25, 4, kFromX},  {-2, 0.25, 4, kFromX},
    {0.5, 0.25, 4, kFromY},    {-0.5, 0.25, 4, kFromY}, {-1, 0.25, 4, kFromY},
    {0.25, -0.125, 4, kFromY}, {1.5, 0.5, 4, kFromX}};

string Power(const PowerCase& c) {
  return "name: 'power' type: 'Power' power_param { power: " + std::to_string(c.power) +
         " scale: " + std::to_string(c.scale) + " shift: " + std::to_string(c.shift) + " }";
}

TEST(PowerLayer, RaisesTheScaledAndShiftedValue) {
  auto x = RandomBlob({2, 3, 4}, 1);
  Blob<double> y;
  for (const PowerCase& c : kCases) {
    auto layer = MakeLayer(Power(c));
    layer->SetUp({x.get()}, {&y});
    layer->Forward({x.get()}, {&y});
    for (int i = 0; i < y.count(); ++i) {
      const double expected = std::pow(c.shift + c.scale * x->cpu_data()[i], c.power);
      EXPECT_NEAR(y.cpu_data()[i], expected, 1e-12 * std::fabs(expected)) << Power(c);
    }
  }
}

TEST(PowerLayer, IsTheIdentityByDefault) {
  auto x = RandomBlob({5}, 2);
  Blob<double> y;
  auto layer = MakeLayer("name: 'power' type: 'Power'");
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), DataOf(*x));
}

TEST(PowerLayer, EveryVariantGivesTheGradientInPlaceToo) {
  for (const PowerCase& c : kCases) {
    SCOPED_TRACE(Power(c));
    auto x = RandomBlob({2, 3, 4}, 3);
    Blob<double> y;
    auto layer = MakeLayer(Power(c));
    CheckVariants(layer.get(), {x.get()}, {&y}, {true}, true);
    const MemoryTraits traits = layer->Traits({x.get()}, {&y}, {true});
    vector<string> names;
    for (const OperandVariant& variant : traits.backward) names.push_back(variant.name);
    EXPECT_EQ(names, c.variants);
    EXPECT_EQ(traits.saved.empty(), c.variants == kConstant);
    for (int variant = -1; variant < static_cast<int>(names.size()); ++variant) {
      GradientChecker<double> checker(1e-4, 1e-6);
      checker.set_variant(variant);
      checker.CheckGradientEltwise(MakeLayer(Power(c)).get(), {x.get()}, {&y});
    }
  }
}

TEST(PowerLayer, HasAFiniteGradientWhereTheBaseIsZero) {
  auto x = BlobOf({1}, {0});
  Blob<double> y;
  for (const double power : {1.0, 2.0, 3.0, 2.5}) {
    auto layer = MakeLayer(Power({power, 1, 0, {}}));
    layer->SetUp({x.get()}, {&y});
    layer->Forward({x.get()}, {&y});
    y.mutable_cpu_diff()[0] = 1;
    layer->Backward({&y}, {true}, {x.get()});
    EXPECT_EQ(x->cpu_diff()[0], power == 1 ? 1 : 0);
  }
}

TEST(PowerLayer, IsConstantForAScaleOfZero) {
  auto x = BlobOf({2}, {NAN, INFINITY});
  Blob<double> y;
  auto layer = MakeLayer(Power({2, 0, 3, {}}));
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{9, 9}));
}

}  // namespace
}  // namespace caffe
