#include <gtest/gtest.h>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string Scale(const string& param) {
  return "name: 'scale' type: 'Scale' scale_param { filler { type: 'gaussian' } bias_filler { "
         "type: 'gaussian' } " +
         param + " }";
}

TEST(ScaleLayer, MultipliesAlongItsAxesAndAddsTheBias) {
  auto x = BlobOf({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Blob<double> y;
  auto layer = MakeLayer(Scale("bias_term: true"));
  layer->SetUp({x.get()}, {&y});
  ASSERT_EQ(layer->blobs().size(), 2u);
  ASSERT_EQ(layer->blobs()[0]->shape(), vector<int>{2});
  layer->blobs()[0]->mutable_cpu_data()[0] = 2;
  layer->blobs()[0]->mutable_cpu_data()[1] = -1;
  layer->blobs()[1]->mutable_cpu_data()[0] = 0;
  layer->blobs()[1]->mutable_cpu_data()[1] = 10;
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{2, 4, 7, 6, 10, 12, 3, 2}));
}

TEST(ScaleLayer, StartsAsTheIdentity) {
  auto x = RandomBlob({2, 3, 4}, 1);
  Blob<double> y;
  auto layer = MakeLayer("type: 'Scale' scale_param { bias_term: true }");
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), DataOf(*x));
}

TEST(ScaleLayer, ParameterHasTheRequestedAxes) {
  auto x = RandomBlob({2, 3, 4, 5}, 2);
  Blob<double> y;
  const auto shape = [&](const string& param) {
    auto layer = MakeLayer(Scale(param));
    layer->SetUp({x.get()}, {&y});
    return layer->blobs()[0]->shape();
  };
  EXPECT_EQ(shape(""), vector<int>{3});
  EXPECT_EQ(shape("axis: 2 num_axes: 2"), (vector<int>{4, 5}));
  EXPECT_EQ(shape("axis: -1"), vector<int>{5});
  EXPECT_EQ(shape("axis: 1 num_axes: -1"), (vector<int>{3, 4, 5}));
  EXPECT_EQ(shape("num_axes: 0"), vector<int>{});
}

TEST(ScaleLayer, EveryVariantGivesTheGradient) {
  for (const char* param :
       {"", "bias_term: true", "axis: 0 num_axes: -1 bias_term: true", "num_axes: 0", "axis: -1"}) {
    for (int variant = -1; variant < 2; ++variant) {
      auto x = RandomBlob({2, 3, 2}, 3);
      Blob<double> y;
      GradientChecker<double> checker(1e-2, 1e-6);
      checker.set_variant(variant);
      checker.CheckGradientExhaustive(MakeLayer(Scale(param)).get(), {x.get()}, {&y});
    }
  }
}

TEST(ScaleLayer, GradientsOfTwoBottomsAgreeWithDifferences) {
  for (int variant = -1; variant < 2; ++variant) {
    auto x = RandomBlob({2, 3, 2}, 4), s = RandomBlob({3, 2}, 5), scalar = RandomBlob({}, 6);
    Blob<double> y;
    GradientChecker<double> checker(1e-2, 1e-6);
    checker.set_variant(variant);
    checker.CheckGradientExhaustive(MakeLayer(Scale("bias_term: true")).get(), {x.get(), s.get()},
                                    {&y});
    checker.CheckGradientExhaustive(MakeLayer(Scale("axis: 2")).get(), {x.get(), scalar.get()},
                                    {&y});
  }
}

TEST(ScaleLayer, AllVariantsGiveTheSameBitsInPlaceToo) {
  auto x = RandomBlob({2, 3, 20}, 7), s = RandomBlob({3}, 8);
  Blob<double> y;
  CheckVariants(MakeLayer(Scale("bias_term: true")).get(), {x.get()}, {&y}, {true}, true);
  CheckVariants(MakeLayer(Scale("bias_term: true")).get(), {x.get()}, {&y}, {false}, true);
  for (const vector<bool>& propagate_down :
       {vector<bool>{true, true}, vector<bool>{true, false}, vector<bool>{false, true}}) {
    CheckVariants(MakeLayer(Scale("")).get(), {x.get(), s.get()}, {&y}, propagate_down, true);
  }
}

TEST(ScaleLayer, SavesNothingWithoutAScaleGradient) {
  auto x = RandomBlob({2, 3, 2}, 9);
  Blob<double> y;
  auto layer = MakeLayer(Scale(""));
  layer->set_param_propagate_down(0, false);
  layer->SetUp({x.get()}, {&y});
  layer->set_param_propagate_down(0, false);
  for (const OperandVariant& variant : layer->Traits({x.get()}, {&y}, {true}).backward) {
    EXPECT_EQ(std::count(variant.reads.begin(), variant.reads.end(), BottomData(0)), 0);
    EXPECT_EQ(std::count(variant.reads.begin(), variant.reads.end(), Saved(0)), 0);
    EXPECT_EQ(variant.workspace_bytes, 0);
  }
}

TEST(ScaleLayerErrors, BadShapesNameTheLayer) {
  auto x = RandomBlob({2, 3}, 10), s = RandomBlob({4}, 11);
  Blob<double> y;
  const auto set_up = [&](const string& param) { MakeLayer(Scale(param))->SetUp({x.get()}, {&y}); };
  EXPECT_ERROR(set_up("num_axes: 2"), "Layer scale: scale blob's shape extends past");
  EXPECT_ERROR(set_up("num_axes: -2"), "Layer scale: num_axes must be non-negative");
  EXPECT_ERROR(MakeLayer(Scale(""))->SetUp({x.get(), s.get()}, {&y}),
               "Layer scale: axis . of the scale, shape .*, must be as long");
}

}  // namespace
}  // namespace caffe
