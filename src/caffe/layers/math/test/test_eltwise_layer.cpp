#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Eltwise(const string& param) {
  return "name: 'elt' type: 'Eltwise' eltwise_param { " + param + " }";
}

const vector<vector<int>> kTwo(2, {2, 3, 2});
const vector<vector<int>> kFour(4, {2, 3, 2});

vector<double> Forward(const string& param, const vector<vector<double>>& inputs) {
  LayerCase eltwise(Eltwise(param),
                    vector<vector<int>>(inputs.size(), {static_cast<int>(inputs[0].size())}), 1);
  eltwise.SetUp();
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::copy(inputs[i].begin(), inputs[i].end(), eltwise.bottom[i]->mutable_cpu_data());
  }
  eltwise.layer->Forward(eltwise.bottom, eltwise.top);
  const double* y = eltwise.top[0]->cpu_data();
  return vector<double>(y, y + eltwise.top[0]->count());
}

TEST(Eltwise, GivesHandComputedValues) {
  const vector<vector<double>> inputs = {{1, 5}, {2, -3}, {4, 6}};
  EXPECT_EQ(Forward("", inputs), (vector<double>{7, 8}));
  EXPECT_EQ(Forward("coeff: 1 coeff: -1 coeff: 0.5", inputs), (vector<double>{1, 11}));
  EXPECT_EQ(Forward("operation: PROD", inputs), (vector<double>{8, -90}));
  EXPECT_EQ(Forward("operation: MAX", inputs), (vector<double>{4, 6}));
}

TEST(Eltwise, GivesTheGradient) {
  for (const auto& shapes : {kTwo, kFour}) {
    CheckAllVariants(Eltwise(""), shapes, 1, 1);
    CheckAllVariants(Eltwise("operation: PROD"), shapes, 1, 1);
    CheckAllVariants(Eltwise("operation: PROD stable_prod_grad: false"), shapes, 1, 1);
    CheckAllVariants(Eltwise("operation: MAX"), shapes, 1, 1);
  }
  CheckAllVariants(Eltwise("coeff: 0.5 coeff: -2"), kTwo, 1, 1);
}

TEST(Eltwise, GivesTheGradientOfOneBottomAlone) {
  for (const char* operation : {"SUM", "PROD", "MAX"}) {
    for (int bottom = 0; bottom < 2; ++bottom) {
      CheckAllVariants(Eltwise(string("operation: ") + operation), kTwo, 1, 1, bottom);
    }
  }
}

TEST(Eltwise, TiesGoToTheSecondOfTwoAndElseToTheEarlier) {
  LayerCase eltwise(Eltwise("operation: MAX"), {{1}, {1}, {1}}, 1);
  for (Blob<double>* blob : eltwise.bottom) blob->mutable_cpu_data()[0] = 3;
  eltwise.SetUp();
  EXPECT_EQ(eltwise.DiffsOfVariant(0), (vector<double>{0, 1, 0}));
}

TEST(Eltwise, SumAndMaximumRunInPlace) {
  CheckInPlace(Eltwise(""), kFour);
  CheckInPlace(Eltwise("coeff: 0.5 coeff: -2"), kTwo);
  CheckInPlace(Eltwise("operation: MAX"), kTwo);
}

void CheckAliases(const string& param, const vector<vector<int>>& shapes, size_t expected_pairs) {
  const LayerCase one(Eltwise(param), shapes, 1);
  CheckVariants(one.layer.get(), one.bottom, one.top, vector<bool>(shapes.size(), true), false);
  EXPECT_EQ(one.Traits().backward[0].may_alias.size(), expected_pairs) << param;
}

TEST(Eltwise, DerivativesMayAliasAsDeclared) {
  CheckAliases("", kTwo, 1);
  CheckAliases("operation: MAX", kFour, 1);
  // dx1 on x0; dx0 on x0, x1 and dy.
  CheckAliases("operation: PROD", kTwo, 4);
  // dx1 on x0; dx0 on all bottoms, not on dy, which its second product reads.
  CheckAliases("operation: PROD", vector<vector<int>>(3, {4}), 4);
  CheckAliases("operation: PROD stable_prod_grad: false", kTwo, 3);
}

TEST(EltwiseErrors, NamesTheLayerOfABadParameter) {
  LayerCase coefficients(Eltwise("coeff: 1"), kTwo, 1);
  EXPECT_ERROR(coefficients.SetUp(), "Layer elt.*one coefficient per bottom");
  LayerCase product(Eltwise("operation: PROD coeff: 1 coeff: 1"), kTwo, 1);
  EXPECT_ERROR(product.SetUp(), "Layer elt.*for sums only");
  LayerCase shapes(Eltwise(""), {{2, 3}, {3, 2}}, 1);
  EXPECT_ERROR(shapes.SetUp(), "Layer elt.*2 3 \\(6\\).*3 2 \\(6\\)");
  LayerCase second(Eltwise(""), kTwo, 0);
  second.top = {second.bottom[1]};
  EXPECT_ERROR(second.SetUp(), "Layer elt.*in place on bottom 0 only");
}

}  // namespace
}  // namespace caffe
