#include <gtest/gtest.h>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Bias(const string& param) {
  return "name: 'bias' type: 'Bias' bias_param { filler { value: 0.7 } " + param + " }";
}

TEST(BiasLayer, AddsOneValuePerChannel) {
  auto x = BlobOf({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), b = BlobOf({2}, {10, -1});
  Blob<double> y;
  auto layer = MakeLayer("type: 'Bias'");
  layer->SetUp({x.get(), b.get()}, {&y});
  layer->Forward({x.get(), b.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{11, 12, 2, 3, 15, 16, 6, 7}));
}

TEST(BiasLayer, StartsAsTheIdentity) {
  auto x = RandomBlob({2, 3, 4}, 1);
  Blob<double> y;
  auto layer = MakeLayer("type: 'Bias'");
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), DataOf(*x));
}

TEST(BiasLayer, ParameterHasTheRequestedAxes) {
  auto x = RandomBlob({2, 3, 4, 5}, 2);
  Blob<double> y;
  const auto shape = [&](const string& param) {
    auto layer = MakeLayer(Bias(param));
    layer->SetUp({x.get()}, {&y});
    return layer->blobs()[0]->shape();
  };
  EXPECT_EQ(shape(""), vector<int>{3});
  EXPECT_EQ(shape("axis: 2 num_axes: 2"), (vector<int>{4, 5}));
  EXPECT_EQ(shape("axis: -1"), vector<int>{5});
  EXPECT_EQ(shape("num_axes: -1"), (vector<int>{3, 4, 5}));
  EXPECT_EQ(shape("num_axes: 0"), vector<int>{});
}

TEST(BiasLayer, GivesTheGradient) {
  for (const char* param : {"", "axis: 0 num_axes: -1", "num_axes: 0", "axis: -1"}) {
    CheckAllVariants(Bias(param), {{2, 3, 2}}, 1, 1);
  }
  CheckAllVariants(Bias(""), {{2, 3, 2}, {3, 2}}, 1, 1);
  CheckAllVariants(Bias("axis: 2"), {{2, 3, 2}, {}}, 1, 1);
}

TEST(BiasLayer, TouchesOnlyDeclaredOperandsAndRunsInPlace) {
  auto x = RandomBlob({2, 3, 20}, 7), b = RandomBlob({3}, 8);
  Blob<double> y;
  CheckVariants(MakeLayer(Bias("")).get(), {x.get()}, {&y}, {true}, true);
  CheckVariants(MakeLayer(Bias("")).get(), {x.get()}, {&y}, {false}, true);
  for (const vector<bool>& propagate_down :
       {vector<bool>{true, true}, vector<bool>{true, false}, vector<bool>{false, true}}) {
    CheckVariants(MakeLayer(Bias("")).get(), {x.get(), b.get()}, {&y}, propagate_down, true);
  }
}

TEST(BiasLayerErrors, BadShapesNameTheLayer) {
  auto x = RandomBlob({2, 3}, 10), b = RandomBlob({4}, 11);
  Blob<double> y;
  const auto set_up = [&](const string& param) { MakeLayer(Bias(param))->SetUp({x.get()}, {&y}); };
  EXPECT_ERROR(set_up("num_axes: 2"), "Layer bias: bias blob's shape extends past");
  EXPECT_ERROR(set_up("num_axes: -2"), "Layer bias: num_axes must be non-negative");
  EXPECT_ERROR(MakeLayer(Bias(""))->SetUp({x.get(), b.get()}, {&y}),
               "Layer bias: axis 0 of the bias, shape 4 .4., must be as long as axis 1");
}

}  // namespace
}  // namespace caffe
