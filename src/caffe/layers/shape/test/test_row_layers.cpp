// Layers that select rows or items by index: BatchReindex, Embed, Filter.
#include <gtest/gtest.h>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

const char kReindex[] = "name: 'reindex' type: 'BatchReindex'";
const char kFilter[] = "name: 'filter' type: 'Filter'";

string Embed(const string& param) {
  return "name: 'embed' type: 'Embed' embed_param { num_output: 3 input_dim: 4 weight_filler { "
         "type: 'gaussian' } bias_filler { type: 'gaussian' } " +
         param + " }";
}

TEST(BatchReindex, GivesItemsInTheOrderOfTheList) {
  auto x = BlobOf({3, 2}, {1, 2, 3, 4, 5, 6}), list = BlobOf({4}, {2, 0, 2, 1});
  Blob<double> y;
  auto layer = MakeLayer(kReindex);
  layer->SetUp({x.get(), list.get()}, {&y});
  layer->Forward({x.get(), list.get()}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{4, 2}));
  EXPECT_EQ(DataOf(y), (vector<double>{5, 6, 1, 2, 5, 6, 3, 4}));
}

TEST(BatchReindex, GivesTheGradientAndTouchesOnlyDeclaredOperands) {
  auto x = RandomBlob({4, 2, 2}, 1), list = BlobOf({5}, {1, 3, 1, 0, 1});
  Blob<double> y;
  GradientChecker<double>(1e-2, 1e-6)
      .CheckGradientExhaustive(MakeLayer(kReindex).get(), {x.get(), list.get()}, {&y}, 0);
  CheckVariants(MakeLayer(kReindex).get(), {x.get(), list.get()}, {&y}, {true, false}, false);
}

TEST(BatchReindex, EmptyListGivesNoItemsAndNoGradient) {
  auto x = RandomBlob({2, 3}, 2);
  Blob<double> list(vector<int>{0}), y;
  auto layer = MakeLayer(kReindex);
  layer->SetUp({x.get(), &list}, {&y});
  layer->Forward({x.get(), &list}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{0, 3}));
  layer->Backward({&y}, {true, false}, {x.get(), &list});
  EXPECT_EQ(DiffOf(*x), vector<double>(6, 0));
}

TEST(BatchReindexErrors, RejectsIndicesOutOfRange) {
  auto x = RandomBlob({2, 3}, 2), flat = RandomBlob({1, 2}, 3);
  Blob<double> y;
  for (const double bad : {-1., 2., double{NAN}}) {
    auto list = BlobOf({2}, {1, bad});
    auto layer = MakeLayer(kReindex);
    layer->SetUp({x.get(), list.get()}, {&y});
    // In GPU mode the host does not look.
    if (Caffe::mode() == Caffe::CPU) {
      EXPECT_ERROR(layer->Forward({x.get(), list.get()}, {&y}),
                   "Layer reindex: value 1 of its list of numbers is");
    } else {
      layer->Forward({x.get(), list.get()}, {&y});
      EXPECT_TRUE(std::isnan(y.cpu_data()[3]));
      EXPECT_EQ(y.cpu_data()[2], x->cpu_data()[5]);
    }
  }
  EXPECT_ERROR(MakeLayer(kReindex)->SetUp({x.get(), flat.get()}, {&y}),
               "Layer reindex: bottom 1, the list of items, must have one axis");
}

TEST(Embed, LooksUpARowForEachValueAndAddsTheBias) {
  auto x = BlobOf({2, 1}, {3, 1});
  Blob<double> y;
  for (const bool bias : {true, false}) {
    auto layer = MakeLayer(Embed(bias ? "" : "bias_term: false"));
    layer->SetUp({x.get()}, {&y});
    ASSERT_EQ(layer->blobs().size(), bias ? 2u : 1u);
    EXPECT_EQ(layer->blobs()[0]->shape(), (vector<int>{4, 3}));
    layer->Forward({x.get()}, {&y});
    EXPECT_EQ(y.shape(), (vector<int>{2, 1, 3}));
    for (int i = 0; i < 6; ++i) {
      const int row = i < 3 ? 3 : 1;
      EXPECT_EQ(y.cpu_data()[i], layer->blobs()[0]->cpu_data()[row * 3 + i % 3] +
                                     (bias ? layer->blobs()[1]->cpu_data()[i % 3] : 0));
    }
  }
}

TEST(Embed, GivesTheGradientAndTouchesOnlyDeclaredOperands) {
  auto x = BlobOf({2, 3}, {1, 3, 1, 0, 1, 3});
  Blob<double> y;
  for (const char* param : {"", "bias_term: false"}) {
    GradientChecker<double>(1e-2, 1e-6)
        .CheckGradientExhaustive(MakeLayer(Embed(param)).get(), {x.get()}, {&y}, -2);
    CheckVariants(MakeLayer(Embed(param)).get(), {x.get()}, {&y}, {false}, false);
  }
  auto fixed = MakeLayer(Embed(""));
  fixed->set_param_propagate_down(0, false);
  CheckVariants(fixed.get(), {x.get()}, {&y}, {false}, false);
}

TEST(Embed, AddsGradientsOfOneRowInTheOrderOfTheValues) {
  auto x = BlobOf({3}, {2, 2, 2});
  Blob<double> y;
  auto layer = MakeLayer(Embed("bias_term: false"));
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  const double terms[] = {1e16, -1e16, 1};
  for (int i = 0; i < 9; ++i) y.mutable_cpu_diff()[i] = terms[i / 3];
  layer->Backward({&y}, {false}, {x.get()});
  EXPECT_EQ(layer->blobs()[0]->cpu_diff()[2 * 3], 1);  // 0 if the last two were added first
}

TEST(EmbedErrors, NamesTheLayerOfBadSizesAndValues) {
  auto x = BlobOf({2}, {1, 4});
  Blob<double> y;
  EXPECT_ERROR(MakeLayer("name: 'embed' type: 'Embed'")->SetUp({x.get()}, {&y}),
               "Layer embed: num_output must be");
  EXPECT_ERROR(MakeLayer("name: 'embed' type: 'Embed' embed_param { num_output: 1 }")
                   ->SetUp({x.get()}, {&y}),
               "Layer embed: input_dim must be");
  auto layer = MakeLayer(Embed(""));
  layer->SetUp({x.get()}, {&y});
  if (Caffe::mode() == Caffe::CPU) {
    EXPECT_ERROR(layer->Forward({x.get()}, {&y}), "Layer embed: value 1 .* is 4");
  }
  EXPECT_ERROR(layer->Backward({&y}, {true}, {x.get()}), "Can't backpropagate to EmbedLayer input");
}

TEST(Filter, PassesOnSelectedItems) {
  auto x = BlobOf({3, 2}, {1, 2, 3, 4, 5, 6}), z = BlobOf({3}, {7, 8, 9});
  auto selector = BlobOf({3, 1}, {1, 0, 1});
  Blob<double> y, w;
  const vector<Blob<double>*> bottom = {x.get(), z.get(), selector.get()}, top = {&y, &w};
  auto layer = MakeLayer(kFilter);
  layer->SetUp(bottom, top);
  EXPECT_EQ(y.shape(), (vector<int>{3, 2}));  // the selector may have no values yet
  layer->Reshape(bottom, top);
  EXPECT_EQ(y.shape(), (vector<int>{2, 2}));
  layer->Forward(bottom, top);
  EXPECT_EQ(DataOf(y), (vector<double>{1, 2, 5, 6}));
  EXPECT_EQ(DataOf(w), (vector<double>{7, 9}));
  std::fill_n(selector->mutable_cpu_data(), 3, 0);
  layer->Forward(bottom, top);
  EXPECT_EQ(y.shape(), (vector<int>{0, 2}));
  layer->Backward(top, {true, true, false}, bottom);
  EXPECT_EQ(DiffOf(*x), vector<double>(6, 0));
  std::fill_n(selector->mutable_cpu_data(), 3, -2);
  layer->Forward(bottom, top);
  EXPECT_EQ(DataOf(w), DataOf(*z));
}

TEST(Filter, GivesTheGradientAndTouchesOnlyDeclaredOperands) {
  auto x = RandomBlob({4, 2}, 1), z = RandomBlob({4, 1, 2}, 2);
  auto selector = BlobOf({4}, {0, 1, 1, 0});
  Blob<double> y, w;
  for (int checked : {0, 1}) {
    GradientChecker<double>(1e-2, 1e-6)
        .CheckGradientExhaustive(MakeLayer(kFilter).get(), {x.get(), z.get(), selector.get()},
                                 {&y, &w}, checked);
  }
  auto layer = MakeLayer(kFilter);
  layer->SetUp({x.get(), z.get(), selector.get()}, {&y, &w});
  EXPECT_TRUE(
      layer->Traits({x.get(), z.get(), selector.get()}, {&y, &w}, {true, true, false}).varying);
  layer->Forward({x.get(), z.get(), selector.get()}, {&y, &w});
  for (int i = 0; i < w.count(); ++i) w.mutable_cpu_diff()[i] = i + 1;
  PlannedPass<double> pass(layer.get(), {x.get(), z.get(), selector.get()}, {&y, &w},
                           {true, true, false});
  const PassResult<double> result = pass.Run(0, nullptr, nullptr);
  EXPECT_EQ(result.top_data[0], DataOf(y));
  EXPECT_EQ(result.bottom_diff[1], (vector<double>{0, 0, 1, 2, 3, 4, 0, 0}));
}

TEST(FilterErrors, NamesTheLayerOfBadShapes) {
  auto x = RandomBlob({4, 2}, 1), wide = RandomBlob({4, 2}, 2), other = RandomBlob({3}, 3);
  Blob<double> y;
  EXPECT_ERROR(MakeLayer(kFilter)->SetUp({x.get(), x.get(), other.get()}, {&y}),
               "Layer filter: Filter has a top for each bottom but the last");
  EXPECT_ERROR(MakeLayer(kFilter)->SetUp({x.get(), wide.get()}, {&y}),
               "Layer filter: the selector must have one value for each item");
  EXPECT_ERROR(MakeLayer(kFilter)->SetUp({x.get(), other.get()}, {&y}),
               "Layer filter: bottom 0, .* must have as many items as the selector");
}

}  // namespace
}  // namespace caffe
