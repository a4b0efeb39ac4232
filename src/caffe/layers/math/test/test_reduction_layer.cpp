#include "caffe/layers/test/every_variant.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Reduction(const string& param) {
  return "name: 'sum' type: 'Reduction' reduction_param { " + param + " }";
}

const vector<double> kValues = {1, -2, 3, -4, 0.5, 6};

vector<double> TopOf(const string& param, const vector<int>& top_shape) {
  LayerCase sum(Reduction(param), {{2, 3, 1}}, 1);
  Assign(kValues, sum.bottom[0]);
  sum.SetUp();
  EXPECT_EQ(sum.top[0]->shape(), top_shape) << param;
  sum.layer->Forward(sum.bottom, sum.top);
  return Values(sum.top[0]->cpu_data(), sum.top[0]->count());
}

TEST(Reduction, ReducesAllAxesFromItsAxisOn) {
  EXPECT_EQ(TopOf("", {}), (vector<double>{4.5}));
  EXPECT_EQ(TopOf("axis: 1", {2}), (vector<double>{2, 2.5}));
  EXPECT_EQ(TopOf("axis: -1", {2, 3}), kValues);
  EXPECT_EQ(TopOf("operation: ASUM axis: 1", {2}), (vector<double>{6, 10.5}));
  EXPECT_EQ(TopOf("operation: SUMSQ axis: 1 coeff: 2", {2}), (vector<double>{28, 104.5}));
  EXPECT_EQ(TopOf("operation: MEAN coeff: 4", {}), (vector<double>{3}));
}

TEST(Reduction, EveryVariantGivesTheGradient) {
  for (const string operation : {"SUM", "ASUM", "SUMSQ", "MEAN"}) {
    for (const string axis : {"0", "1", "-1"}) {
      const string text = Reduction("operation: " + operation + " axis: " + axis + " coeff: 1.5");
      CheckAllVariants(text, {{2, 3, 2}}, 1, 1);
      LayerCase sum(text, {{2, 3, 2}}, 1);
      CheckVariants(sum.layer.get(), sum.bottom, sum.top, {true}, false);
    }
  }
}

TEST(Reduction, MayBeALoss) {
  LayerCase sum(Reduction("operation: SUMSQ coeff: 0.5") + " loss_weight: 3", {{2, 3}}, 1);
  Assign(kValues, sum.bottom[0]);
  sum.SetUp();
  EXPECT_DOUBLE_EQ(sum.layer->Forward(sum.bottom, sum.top), 1.5 * 66.25);
  sum.layer->Backward(sum.top, {true}, sum.bottom);
  EXPECT_EQ(Values(sum.bottom[0]->cpu_diff(), 6), (vector<double>{3, -6, 9, -12, 1.5, 18}));
}

TEST(Reduction, IsZeroForAnEmptyBatch) {
  for (const string operation : {"SUM", "ASUM", "SUMSQ", "MEAN"}) {
    LayerCase sum(Reduction("operation: " + operation) + " loss_weight: 1", {{0, 3}}, 1);
    sum.SetUp();
    EXPECT_EQ(sum.layer->Forward(sum.bottom, sum.top), 0) << operation;
  }
}

TEST(Reduction, AbsoluteSumHasZeroGradientAtZero) {
  LayerCase sum(Reduction("operation: ASUM"), {{3}}, 1);
  Assign({0, -2, 3}, sum.bottom[0]);
  sum.SetUp();
  EXPECT_EQ(sum.DiffsOfVariant(0), (vector<double>{0, -1, 1}));
}

TEST(ReductionErrors, RejectsAnAxisOutOfRange) {
  LayerCase sum(Reduction("axis: 2"), {{2, 3}}, 1);
  EXPECT_ERROR(sum.SetUp(), "axis 2 out of range");
}

}  // namespace
}  // namespace caffe
