// Layers that apply a function without learned parameters to each value, except ReLU, Sigmoid, TanH
// and Power.

#include <cmath>
#include <functional>
#include <limits>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

using Function = std::function<double(double)>;
using Variants = vector<string>;

const double kInf = std::numeric_limits<double>::infinity();

/// A layer (the inside of a `layer { }`) and its expected properties.
struct ElementwiseCase {
  string text;
  Function value;
  Variants variants;
  double kink_range = -1;  ///< inputs this near to 0 are left out of the gradient check
};

string Named(const string& type, const string& param = "") {
  return "name: 'layer' type: '" + type + "' " + param;
}

double Elu(double x, double alpha) { return x > 0 ? x : alpha * (std::exp(x) - 1); }

const Variants kFromY = {"y", "x", "saved"}, kFromX = {"x", "saved"};

// Inputs of LayerCase lie in [-2, 2.01], none nearer to a multiple of 1 / 20.5 than 0.01.
const ElementwiseCase kCases[] = {
    {Named("AbsVal"), [](double x) { return std::fabs(x); }, {"x", "signs"}, 0.001},
    {Named("BNLL"), [](double x) { return std::log(1 + std::exp(x)); }, kFromY},
    {Named("Clip", "clip_param { min: -0.5 max: 0.75 }"),
     [](double x) { return std::max(-0.5, std::min(x, 0.75)); },
     {"x", "mask"}},
    {Named("ELU"), [](double x) { return Elu(x, 1); }, kFromY},
    {Named("ELU", "elu_param { alpha: 0.5 }"), [](double x) { return Elu(x, 0.5); }, kFromY, 0.001},
    {Named("ELU", "elu_param { alpha: 0 }"), [](double x) { return Elu(x, 0); }, kFromY, 0.001},
    {Named("ELU", "elu_param { alpha: -0.5 }"), [](double x) { return Elu(x, -0.5); }, kFromX,
     0.001},
    {Named("Exp"), [](double x) { return std::exp(x); }, kFromY},
    {Named("Exp", "exp_param { base: 2 scale: 0.5 shift: 1 }"),
     [](double x) { return std::pow(2, 1 + 0.5 * x); }, kFromY},
    {Named("Exp", "exp_param { base: 0.5 scale: -3 shift: -1 }"),
     [](double x) { return std::pow(0.5, -1 - 3 * x); }, kFromY},
    {Named("Exp", "exp_param { scale: 0 shift: 2 }"), [](double) { return std::exp(2.); }, kFromY},
    {Named("Log", "log_param { shift: 3 }"), [](double x) { return std::log(3 + x); }, kFromX},
    {Named("Log", "log_param { base: 10 scale: -0.5 shift: 4 }"),
     [](double x) { return std::log10(4 - 0.5 * x); }, kFromX},
    {Named("Log", "log_param { base: 0.5 shift: 3 }"), [](double x) { return -std::log2(3 + x); },
     kFromX},
    {Named("Swish"), [](double x) { return x / (1 + std::exp(-x)); }, kFromX},
    {Named("Swish", "swish_param { beta: 1.5 }"),
     [](double x) { return x / (1 + std::exp(-1.5 * x)); }, kFromX},
    {Named("Swish", "swish_param { beta: 0 }"), [](double x) { return x / 2; }, kFromX},
    {Named("Swish", "swish_param { beta: -2 }"), [](double x) { return x / (1 + std::exp(2 * x)); },
     kFromX},
};

TEST(ElementwiseLayers, ApplyTheirFunctionToEachValue) {
  for (const ElementwiseCase& c : kCases) {
    LayerCase layer(c.text, {{3, 2, 2, 2, 2}}, 1);
    layer.SetUp();
    EXPECT_EQ(layer.top[0]->shape(), layer.bottom[0]->shape());
    layer.layer->Forward(layer.bottom, layer.top);
    for (int i = 0; i < layer.bottom[0]->count(); ++i) {
      const double expected = c.value(layer.bottom[0]->cpu_data()[i]);
      EXPECT_NEAR(layer.top[0]->cpu_data()[i], expected, 1e-7 * std::fabs(expected)) << c.text;
    }
  }
}

TEST(ElementwiseLayers, AllVariantsGiveTheGradient) {
  for (const ElementwiseCase& c : kCases) {
    LayerCase layer(c.text, {{1}}, 1);
    layer.SetUp();
    Variants names;
    for (const OperandVariant& variant : layer.Traits().backward) names.push_back(variant.name);
    EXPECT_EQ(names, c.variants) << c.text;
    CheckAllVariants(c.text, {{3, 5}}, 1, c.variants.size(), -1, c.kink_range);
  }
}

TEST(ElementwiseLayers, AllVariantsGiveTheSameBitsInPlaceToo) {
  for (const ElementwiseCase& c : kCases) {
    LayerCase layer(c.text, {{2, 3, 5}}, 1);
    layer.bottom[0]->mutable_cpu_data()[3] = 0;
    CheckVariants(layer.layer.get(), layer.bottom, layer.top, {true}, true);
    CheckInPlace(c.text, {{2, 3, 5}});
  }
}

TEST(ElementwiseLayers, VariantsAreRightOnManyThreads) {
  for (const ElementwiseCase& c : kCases) {
    LayerCase layer(c.text, {{40001}}, 1);
    layer.SetUp();
    const vector<double> expected = layer.DiffsOfVariant(0);
    for (int variant = 1; variant < static_cast<int>(c.variants.size()); ++variant)
      EXPECT_EQ(layer.DiffsOfVariant(variant), expected)
          << c.text << ", variant " << c.variants[variant];
  }
}

TEST(ElementwiseLayers, TakeAnEmptyBatch) {
  for (const ElementwiseCase& c : kCases) {
    LayerCase layer(c.text, {{0, 3}}, 1);
    layer.SetUp();
    for (int variant = 0; variant < static_cast<int>(c.variants.size()); ++variant)
      EXPECT_TRUE(layer.DiffsOfVariant(variant).empty());
    EXPECT_EQ(layer.top[0]->shape(), (vector<int>{0, 3}));
  }
}

TEST(ElementwiseLayers, HaveNoBackwardIfNoGradientIsWanted) {
  for (const ElementwiseCase& c : kCases) {
    LayerCase layer(c.text, {{2, 3}}, 1);
    layer.SetUp();
    EXPECT_TRUE(layer.layer->Traits(layer.bottom, layer.top, {false}).backward.empty()) << c.text;
  }
}

/// y and dx, for dy = 1, 2, 3, ..., of a layer at these values.
struct AtValues {
  AtValues(const string& text, const vector<double>& x, int variant = 0)
      : layer(text, {{static_cast<int>(x.size())}}, 1) {
    layer.SetUp();
    std::copy(x.begin(), x.end(), layer.bottom[0]->mutable_cpu_data());
    dx = layer.DiffsOfVariant(variant);
    y = layer.outputs;
  }
  LayerCase layer;
  vector<double> y, dx;
};

TEST(AbsVal, HasZeroGradientAtZeroAndSavesTwoBitsPerValue) {
  for (const int variant : {0, 1}) {
    AtValues abs(Named("AbsVal"), {-2, 0, 3, -0.0, -kInf}, variant);
    EXPECT_EQ(abs.y, (vector<double>{2, 0, 3, 0, kInf}));
    EXPECT_EQ(abs.dx, (vector<double>{-1, 0, 3, 0, -5}));
    EXPECT_EQ(abs.layer.Traits().saved.at(0).bytes, 2);
  }
}

TEST(Clip, PassesTheGradientOnTheBoundsAndSavesOneBitPerValue) {
  for (const int variant : {0, 1}) {
    AtValues clip(Named("Clip", "clip_param { min: -1 max: 2 }"), {-1.5, -1, 0, 2, 2.5, kInf},
                  variant);
    EXPECT_EQ(clip.y, (vector<double>{-1, -1, 0, 2, 2, 2}));
    EXPECT_EQ(clip.dx, (vector<double>{0, 2, 3, 4, 0, 0}));
    EXPECT_EQ(clip.layer.Traits().saved.at(0).bytes, 1);
  }
}

TEST(ElementwiseLayers, KeepNaN) {
  for (const ElementwiseCase& c : kCases) {
    auto x = BlobOf({1}, {NAN});
    Blob<double> y;
    auto layer = MakeLayer(c.text);
    layer->SetUp({x.get()}, {&y});
    layer->Forward({x.get()}, {&y});
    EXPECT_TRUE(std::isnan(y.cpu_data()[0])) << c.text;
  }
}

TEST(BNLL, IsAccurateFarFromZero) {
  for (const int variant : {0, 1, 2}) {
    const AtValues bnll(Named("BNLL"), {0, 800, -30, -800, 50}, variant);
    EXPECT_DOUBLE_EQ(bnll.y[0], std::log(2.0));
    EXPECT_EQ(bnll.y[1], 800);
    EXPECT_DOUBLE_EQ(bnll.y[2], std::log1p(std::exp(-30.0)));
    EXPECT_EQ(bnll.y[3], 0);
    EXPECT_DOUBLE_EQ(bnll.dx[0], 0.5);
    EXPECT_EQ(bnll.dx[1], 2);
    EXPECT_DOUBLE_EQ(bnll.dx[2], 3 / (1 + std::exp(30.0)));
    EXPECT_EQ(bnll.dx[3], 0);
    EXPECT_DOUBLE_EQ(bnll.dx[4], 5);
  }
}

TEST(ELU, IsAccurateNearZeroAndAtInfinity) {
  const AtValues elu(Named("ELU", "elu_param { alpha: 0.5 }"), {-1e-12, 0, -kInf});
  EXPECT_DOUBLE_EQ(elu.y[0], 0.5 * std::expm1(-1e-12));
  EXPECT_EQ(elu.y[1], 0);
  EXPECT_EQ(elu.y[2], -0.5);
  EXPECT_EQ(elu.dx[1], 1);
  EXPECT_EQ(elu.dx[2], 0);
}

TEST(Swish, IsAccurateFarFromZero) {
  const AtValues swish(Named("Swish"), {-800, 800, 0});
  EXPECT_EQ(swish.y, (vector<double>{0, 800, 0}));
  EXPECT_EQ(swish.dx, (vector<double>{0, 2, 1.5}));
}

TEST(ExpAndLog, RejectABaseWithoutALogarithm) {
  const auto set_up = [](const string& text) { LayerCase(text, {{2}}, 1).SetUp(); };
  for (const char* base : {"0", "-2"}) {
    const string param = string("{ base: ") + base + " }";
    EXPECT_ERROR(set_up(Named("Exp", "exp_param " + param)),
                 "Layer layer: base must be strictly positive");
    EXPECT_ERROR(set_up(Named("Log", "log_param " + param)),
                 "Layer layer: base must be strictly positive");
  }
  EXPECT_ERROR(set_up(Named("Exp", "exp_param { base: inf }")),
               "Layer layer: base inf has no finite logarithm");
  EXPECT_ERROR(set_up(Named("Log", "log_param { base: 1 }")),
               "Layer layer: there is no logarithm with base 1");
}

TEST(ExpAndLog, ABaseOfOneIsConstant) {
  const AtValues one(Named("Exp", "exp_param { base: 1 shift: 3 }"), {-2, 5});
  EXPECT_EQ(one.y, (vector<double>{1, 1}));
  EXPECT_EQ(one.dx, (vector<double>{0, 0}));
}

const char kThreshold[] = "name: 'layer' type: 'Threshold' threshold_param { threshold: 0.5 }";

TEST(Threshold, MarksValuesAboveTheThreshold) {
  auto x = BlobOf({2, 2}, {0.25, 0.5, 0.75, -1});
  Blob<double> y;
  auto layer = MakeLayer(kThreshold);
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{0, 0, 1, 0}));
  layer->Forward({x.get()}, {x.get()});
  EXPECT_EQ(DataOf(*x), (vector<double>{0, 0, 1, 0}));
}

TEST(Threshold, BackwardThatNeedsItsGradientAborts) {
  auto x = BlobOf({2}, {0, 1});
  Blob<double> y;
  auto layer = MakeLayer(kThreshold);
  layer->SetUp({x.get()}, {&y});
  EXPECT_TRUE(layer->Traits({x.get()}, {&y}, {false}).backward.empty());
  layer->Forward({x.get()}, {&y});
  layer->Backward({&y}, {false}, {x.get()});
  EXPECT_ERROR(layer->Backward({&y}, {true}, {x.get()}),
               "Layer layer \\(Threshold\\) has no gradient");
}

}  // namespace
}  // namespace caffe
