#include <gtest/gtest.h>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string InnerProduct(const string& param) {
  return "name: 'ip' type: 'InnerProduct' inner_product_param { num_output: 3 weight_filler { "
         "type: 'gaussian' } "
         "bias_filler { type: 'gaussian' } " +
         param + " }";
}

TEST(InnerProductLayer, MultipliesAndAddsTheBias) {
  auto x = BlobOf({2, 2}, {1, 2, 3, 4});
  Blob<double> y;
  auto layer = MakeLayer(InnerProduct(""));
  layer->SetUp({x.get()}, {&y});
  EXPECT_EQ(layer->blobs()[0]->shape(), (vector<int>{3, 2}));
  const vector<double> weights = {1, 0, 0, 1, 2, 3}, bias = {10, 20, 30};
  std::copy(weights.begin(), weights.end(), layer->blobs()[0]->mutable_cpu_data());
  std::copy(bias.begin(), bias.end(), layer->blobs()[1]->mutable_cpu_data());
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{11, 22, 38, 13, 24, 48}));
}

TEST(InnerProductLayer, TransposedWeightsGiveTheSame) {
  auto x = RandomBlob({2, 3, 2}, 1);
  Blob<double> y, z;
  auto layer = MakeLayer(InnerProduct("")), transposed = MakeLayer(InnerProduct("transpose: true"));
  layer->SetUp({x.get()}, {&y});
  transposed->SetUp({x.get()}, {&z});
  ASSERT_EQ(transposed->blobs()[0]->shape(), (vector<int>{6, 3}));
  for (int i = 0; i < 18; ++i) {
    transposed->blobs()[0]->mutable_cpu_data()[i % 6 * 3 + i / 6] =
        layer->blobs()[0]->cpu_data()[i];
  }
  transposed->blobs()[1]->CopyFrom(*layer->blobs()[1]);
  layer->Forward({x.get()}, {&y});
  transposed->Forward({x.get()}, {&z});
  ASSERT_EQ(y.shape(), (vector<int>{2, 3}));
  for (int i = 0; i < y.count(); ++i) EXPECT_NEAR(y.cpu_data()[i], z.cpu_data()[i], 1e-12);
}

TEST(InnerProductLayer, KeepsTheAxesBeforeItsAxis) {
  auto x = RandomBlob({2, 3, 4, 5}, 2);
  Blob<double> y;
  MakeLayer(InnerProduct("axis: 2"))->SetUp({x.get()}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{2, 3, 3}));
  MakeLayer(InnerProduct("axis: -1 bias_term: false"))->SetUp({x.get()}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{2, 3, 4, 3}));
}

TEST(InnerProductLayer, GivesTheGradient) {
  for (const char* param : {"", "transpose: true", "axis: 2", "bias_term: false"}) {
    auto x = RandomBlob({2, 3, 2}, 3);
    Blob<double> y;
    GradientChecker<double> checker(1e-2, 1e-6);
    checker.CheckGradientExhaustive(MakeLayer(InnerProduct(param)).get(), {x.get()}, {&y});
    checker.set_variant(0);
    checker.CheckGradient(MakeLayer(InnerProduct(param)).get(), {x.get()}, {&y});
  }
}

TEST(InnerProductLayer, TouchesOnlyDeclaredOperandsAndMayAliasAsDeclared) {
  auto x = RandomBlob({3, 3}, 4);
  Blob<double> y;
  for (const bool data : {true, false}) {
    CheckVariants(MakeLayer(InnerProduct("")).get(), {x.get()}, {&y}, {data}, false);
    CheckVariants(MakeLayer(InnerProduct("transpose: true")).get(), {x.get()}, {&y}, {data}, false);
  }
  auto fixed = MakeLayer(InnerProduct(""));
  fixed->set_param_propagate_down(0, false);
  CheckVariants(fixed.get(), {x.get()}, {&y}, {true}, false);
}

TEST(InnerProductLayerErrors, BadShapesNameTheLayer) {
  auto x = RandomBlob({2, 3}, 5), wide = RandomBlob({2, 4}, 5);
  Blob<double> y;
  auto layer = MakeLayer(InnerProduct(""));
  layer->SetUp({x.get()}, {&y});
  EXPECT_ERROR(layer->Forward({wide.get()}, {&y}), "Layer ip: Input size incompatible");
  auto none = MakeLayer("name: 'ip' type: 'InnerProduct'");
  EXPECT_ERROR(none->SetUp({x.get()}, {&y}), "Layer ip: num_output must be 1 to 2147483647");
}

}  // namespace
}  // namespace caffe
