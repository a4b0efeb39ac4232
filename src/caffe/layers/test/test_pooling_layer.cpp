#include <gtest/gtest.h>

#include <cfloat>

#include "caffe/layers/test/form_check.hpp"
#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string Pool(const string& param) {
  return "name: 'pool' type: 'Pooling' pooling_param { " + param + " }";
}

vector<double> Forward(const string& param, Blob<double>* x, Blob<double>* y) {
  auto layer = MakeLayer(Pool(param));
  layer->SetUp({x}, {y});
  layer->Forward({x}, {y});
  return DataOf(*y);
}

TEST(PoolingLayer, TakesTheMaximumAndSaysWhere) {
  auto x = BlobOf({1, 1, 3, 4}, {1, 2, 5, 2,  //
                                 9, 4, 1, 4,  //
                                 1, 2, 5, 8});
  Blob<double> y, mask;
  auto layer = MakeLayer(Pool("kernel_size: 2"));
  layer->SetUp({x.get()}, {&y, &mask});
  layer->Forward({x.get()}, {&y, &mask});
  EXPECT_EQ(DataOf(y), (vector<double>{9, 5, 5, 9, 5, 8}));
  EXPECT_EQ(DataOf(mask), (vector<double>{4, 2, 2, 4, 10, 11}));
  std::fill_n(y.mutable_cpu_diff(), 6, 1.0);
  layer->Backward({&y, &mask}, {true}, {x.get()});
  EXPECT_EQ(DiffOf(*x), (vector<double>{0, 0, 2, 0, 2, 0, 0, 0, 0, 0, 1, 1}));
}

TEST(PoolingLayer, TiesGoToTheFirst) {
  auto x = BlobOf({1, 1, 2, 2}, {3, 3, 3, 3});
  Blob<double> y;
  auto layer = MakeLayer(Pool("kernel_size: 2"));
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  y.mutable_cpu_diff()[0] = 1;
  layer->Backward({&y}, {true}, {x.get()});
  EXPECT_EQ(DiffOf(*x), (vector<double>{1, 0, 0, 0}));
}

TEST(PoolingLayer, AverageCountsThePaddingButNotWhatLiesBehindIt) {
  auto x = BlobOf({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Blob<double> y;
  // Each window holds four values of the plane and five of the padding.
  EXPECT_EQ(Forward("pool: AVE kernel_size: 3 stride: 2 pad: 1", x.get(), &y),
            (vector<double>{12 / 9.0, 16 / 9.0, 24 / 9.0, 28 / 9.0}));
  // Without padding, the last windows are cut at the end of the plane.
  EXPECT_EQ(Forward("pool: AVE kernel_size: 2 stride: 2", x.get(), &y),
            (vector<double>{3, 4.5, 7.5, 9}));
}

TEST(PoolingLayer, RoundsUpOrDownAndPoolsGlobally) {
  auto x = RandomBlob({2, 3, 6, 7}, 1);
  Blob<double> y;
  Forward("kernel_size: 3 stride: 2", x.get(), &y);
  EXPECT_EQ(y.shape(), (vector<int>{2, 3, 3, 3}));
  Forward("kernel_size: 3 stride: 2 round_mode: FLOOR", x.get(), &y);
  EXPECT_EQ(y.shape(), (vector<int>{2, 3, 2, 3}));
  Forward("kernel_size: 3 stride: 2 ceil_mode: false", x.get(), &y);
  EXPECT_EQ(y.shape(), (vector<int>{2, 3, 2, 3}));
  Forward("kernel_size: 3 stride: 2 ceil_mode: true round_mode: CEIL", x.get(), &y);
  EXPECT_EQ(y.shape(), (vector<int>{2, 3, 3, 3}));
  Forward("kernel_h: 2 kernel_w: 3 stride_h: 1 stride_w: 2 pad_h: 0 pad_w: 1", x.get(), &y);
  EXPECT_EQ(y.shape(), (vector<int>{2, 3, 5, 4}));
  Forward("pool: AVE global_pooling: true", x.get(), &y);
  EXPECT_EQ(y.shape(), (vector<int>{2, 3, 1, 1}));
}

TEST(PoolingLayer, EmptyWindowsHaveNoGradient) {
  auto x = BlobOf({1, 1, 1, 5}, {1, 2, 3, 4, 5});
  Blob<double> y;
  // Windows of one value at 0, 3 and 6; the last lies behind the plane.
  EXPECT_EQ(Forward("kernel_size: 1 stride: 3", x.get(), &y), (vector<double>{1, 4, -DBL_MAX}));
  EXPECT_EQ(Forward("pool: AVE kernel_size: 1 stride: 3", x.get(), &y), (vector<double>{1, 4, 0}));
  auto layer = MakeLayer(Pool("kernel_size: 1 stride: 3"));
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  std::fill_n(y.mutable_cpu_diff(), 3, 1.0);
  layer->Backward({&y}, {true}, {x.get()});
  EXPECT_EQ(DiffOf(*x), (vector<double>{1, 0, 0, 1, 0}));
}

TEST(PoolingLayer, GradientsAgreeWithDifferences) {
  for (const char* param :
       {"kernel_size: 3 stride: 2 pad: 1", "kernel_h: 3 kernel_w: 2", "kernel_size: 2 stride: 3",
        "pool: AVE kernel_size: 3 stride: 2 pad: 1", "pool: AVE kernel_size: 2 stride: 3",
        "pool: AVE global_pooling: true", "global_pooling: true"}) {
    auto x = RandomBlob({2, 2, 5, 4}, 2);
    Blob<double> y;
    GradientChecker<double> checker(1e-4, 1e-6);
    checker.CheckGradientExhaustive(MakeLayer(Pool(param)).get(), {x.get()}, {&y});
    checker.set_form(0);
    checker.CheckGradient(MakeLayer(Pool(param)).get(), {x.get()}, {&y});
  }
}

TEST(PoolingLayer, TouchesWhatItDeclares) {
  auto x = RandomBlob({2, 2, 5, 4}, 3);
  Blob<double> y, mask;
  CheckForms(MakeLayer(Pool("kernel_size: 3 stride: 2")).get(), {x.get()}, {&y}, {true}, false);
  CheckForms(MakeLayer(Pool("kernel_size: 3 stride: 2")).get(), {x.get()}, {&y, &mask}, {true},
             false);
  CheckForms(MakeLayer(Pool("pool: AVE kernel_size: 3 pad: 1")).get(), {x.get()}, {&y}, {true},
             false);
}

TEST(PoolingLayer, SavesTheSmallestIndexThatHoldsAWindow) {
  auto x = RandomBlob({1, 1, 300, 300}, 4);
  Blob<double> y;
  for (const auto& [param, bytes] :
       {std::pair("kernel_size: 16 stride: 16", 1), std::pair("kernel_size: 17", 2),
        std::pair("kernel_size: 256", 2), std::pair("kernel_h: 257 kernel_w: 256", 4)}) {
    auto layer = MakeLayer(Pool(param));
    layer->SetUp({x.get()}, {&y});
    const MemoryTraits traits = layer->Traits({x.get()}, {&y}, {true});
    EXPECT_EQ(traits.saved[0].bytes, int64_t{y.count()} * bytes) << param;
  }
  // The last position of a large window survives the trip through the index.
  x->mutable_cpu_data()[299 * 300 + 299] = 100;
  auto layer = MakeLayer(Pool("global_pooling: true"));
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  y.mutable_cpu_diff()[0] = 1;
  layer->Backward({&y}, {true}, {x.get()});
  EXPECT_EQ(x->cpu_diff()[299 * 300 + 299], 1);
}

TEST(PoolingLayerDeathTest, BadParametersNameTheLayer) {
  auto x = RandomBlob({1, 1, 4, 4}, 5), flat = RandomBlob({4, 4}, 5);
  Blob<double> y;
  const auto set_up = [&](const string& param) { MakeLayer(Pool(param))->SetUp({x.get()}, {&y}); };
  EXPECT_DEATH(set_up("pool: STOCHASTIC kernel_size: 2"),
               "Layer pool: STOCHASTIC pooling is not implemented");
  EXPECT_DEATH(set_up("kernel_size: 2 pad: 2"), "Layer pool: the padding must be smaller");
  EXPECT_DEATH(set_up("kernel_size: 5"), "Layer pool: a kernel of 5 does not fit an input of 4");
  EXPECT_DEATH(set_up(""), "Layer pool: the kernel is missing, zero or too large");
  EXPECT_DEATH(set_up("kernel_size: 2 stride: 0"), "Layer pool: the stride must be positive");
  EXPECT_DEATH(set_up("kernel_size: 2 kernel_h: 2 kernel_w: 2"),
               "Layer pool: kernel is given twice");
  EXPECT_DEATH(set_up("global_pooling: true kernel_size: 2"),
               "Layer pool: global_pooling: true takes no kernel size");
  EXPECT_DEATH(MakeLayer(Pool("kernel_size: 2"))->SetUp({flat.get()}, {&y}),
               "Layer pool: Input must have 4 axes");
}

TEST(PoolingLayer, AKernelLargerThanItsInputHasTheWindowThatRoundingLeaves) {
  auto x = BlobOf({1, 1, 2, 2}, {1, 2, 3, 5});
  Blob<double> y;
  const auto pooled = [&](const string& param) {
    auto layer = MakeLayer(Pool(param));
    layer->SetUp({x.get()}, {&y});
    layer->Forward({x.get()}, {&y});
    return DataOf(y);
  };
  EXPECT_EQ(pooled("kernel_size: 3 stride: 2"), (vector<double>{5}));
  EXPECT_EQ(pooled("pool: AVE kernel_size: 3 stride: 2"), (vector<double>{2.75}));
  EXPECT_EQ(pooled("kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR"), (vector<double>{5}));
  for (const char* none :
       {"kernel_size: 3 stride: 2 round_mode: FLOOR", "kernel_size: 4 stride: 2", "kernel_size: 3"})
    EXPECT_DEATH(pooled(none), "Layer pool: a kernel of . does not fit an input of 2 with pad 0");
  for (const char* both :
       {"ceil_mode: true round_mode: FLOOR", "ceil_mode: false round_mode: CEIL"})
    EXPECT_DEATH(pooled(string("kernel_size: 2 ") + both),
                 "Layer pool: ceil_mode and round_mode contradict each other");
}

}  // namespace
}  // namespace caffe
