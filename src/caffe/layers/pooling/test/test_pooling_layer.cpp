#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
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

TEST(PoolingLayer, GivesTheMaximumAndItsIndex) {
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

TEST(PoolingLayer, AverageCountsThePaddingButNothingBeyondIt) {
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
  // Windows of one value at 0, 3 and 6; the last is beyond the plane.
  EXPECT_EQ(Forward("kernel_size: 1 stride: 3", x.get(), &y), (vector<double>{1, 4, -DBL_MAX}));
  EXPECT_EQ(Forward("pool: AVE kernel_size: 1 stride: 3", x.get(), &y), (vector<double>{1, 4, 0}));
  auto layer = MakeLayer(Pool("kernel_size: 1 stride: 3"));
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  std::fill_n(y.mutable_cpu_diff(), 3, 1.0);
  layer->Backward({&y}, {true}, {x.get()});
  EXPECT_EQ(DiffOf(*x), (vector<double>{1, 0, 0, 1, 0}));
}

TEST(PoolingLayer, GivesTheGradient) {
  for (const char* param :
       {"kernel_size: 3 stride: 2 pad: 1", "kernel_h: 3 kernel_w: 2", "kernel_size: 2 stride: 3",
        "pool: AVE kernel_size: 3 stride: 2 pad: 1", "pool: AVE kernel_size: 2 stride: 3",
        "pool: AVE global_pooling: true", "global_pooling: true"}) {
    auto x = RandomBlob({2, 2, 5, 4}, 2);
    Blob<double> y;
    GradientChecker<double> checker(1e-4, 1e-6);
    checker.CheckGradientExhaustive(MakeLayer(Pool(param)).get(), {x.get()}, {&y});
    checker.set_variant(0);
    checker.CheckGradient(MakeLayer(Pool(param)).get(), {x.get()}, {&y});
  }
}

/// One window alone: takes its first value, then each larger one. An index of -1 means that it
/// covers nothing.
template <typename Dtype>
pair<Dtype, int> LargestIn(const Dtype* plane, int height, int width, int from_y, int from_x,
                           const PoolingParameter& pool) {
  pair<Dtype, int> largest = {std::numeric_limits<Dtype>::lowest(), -1};
  for (int y = std::max(from_y, 0); y < std::min<int>(from_y + pool.kernel_h(), height); ++y) {
    for (int x = std::max(from_x, 0); x < std::min<int>(from_x + pool.kernel_w(), width); ++x) {
      const Dtype value = plane[y * width + x];
      if (largest.second < 0 || value > largest.first) largest = {value, y * width + x};
    }
  }
  return largest;
}

template <typename Dtype>
class WidePooling : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(WidePooling, Precisions);

// Rows of many windows are computed in vectors.
TYPED_TEST(WidePooling, GivesTheSameAsSeparateWindows) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  const TypeParam values[] = {1, -2, 3, 3, NAN, -infinity, 7, 0, -1, -infinity, infinity, 2, 5};
  uint32_t draw = 1;
  for (const char* geometry :
       {"kernel_h: 3 kernel_w: 3 stride_h: 2 stride_w: 2 pad_h: 0 pad_w: 0",
        "kernel_h: 3 kernel_w: 3 stride_h: 2 stride_w: 2 pad_h: 1 pad_w: 1",
        "kernel_h: 3 kernel_w: 3 stride_h: 1 stride_w: 1 pad_h: 1 pad_w: 1",
        "kernel_h: 2 kernel_w: 2 stride_h: 2 stride_w: 2 pad_h: 0 pad_w: 0",
        "kernel_h: 1 kernel_w: 1 stride_h: 2 stride_w: 2 pad_h: 0 pad_w: 0",
        "kernel_h: 2 kernel_w: 5 stride_h: 1 stride_w: 2 pad_h: 1 pad_w: 4",
        "kernel_h: 2 kernel_w: 16 stride_h: 1 stride_w: 1 pad_h: 0 pad_w: 15",
        "kernel_h: 2 kernel_w: 17 stride_h: 1 stride_w: 2 pad_h: 0 pad_w: 3",
        "kernel_h: 3 kernel_w: 4 stride_h: 1 stride_w: 3 pad_h: 0 pad_w: 2"}) {
    for (const int width : {17, 33, 34, 128, 129, 131, 263, 1100}) {
      LayerParameter parameter;
      ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(Pool(geometry), &parameter));
      const auto layer = LayerRegistry<TypeParam>::CreateLayer(parameter);
      const PoolingParameter& pool = parameter.pooling_param();
      const int height = 5;
      Blob<TypeParam> x(vector<int>{2, 1, height, width}), y;
      for (int i = 0; i < x.count(); ++i) {
        draw = draw * 1664525 + 1013904223;
        x.mutable_cpu_data()[i] = values[draw / 65536 % 13];
      }
      layer->SetUp({&x}, {&y});
      layer->Forward({&x}, {&y});
      for (int i = 0; i < y.count(); ++i)
        y.mutable_cpu_diff()[i] = TypeParam(1) / static_cast<TypeParam>(i + 3);
      layer->Backward({&y}, {true}, {&x});
      vector<TypeParam> largest, gradient(x.count());
      for (int i = 0; i < y.count(); ++i) {
        const int plane = i / y.count(2) * x.count(2), window = i % y.count(2);
        const auto [value, place] = LargestIn(
            x.cpu_data() + plane, height, width,
            static_cast<int>(window / y.width() * pool.stride_h()) - static_cast<int>(pool.pad_h()),
            static_cast<int>(window % y.width() * pool.stride_w()) - static_cast<int>(pool.pad_w()),
            pool);
        largest.push_back(value);
        if (place >= 0) gradient[plane + place] += y.cpu_diff()[i];
      }
      for (int i = 0; i < y.count(); ++i) {
        const TypeParam found = y.cpu_data()[i];
        ASSERT_TRUE(found == largest[i] || (std::isnan(found) && std::isnan(largest[i])))
            << geometry << ", width " << width << ": window " << i << " gives " << found
            << " instead of " << largest[i];
      }
      for (int i = 0; i < x.count(); ++i) {
        ASSERT_EQ(x.cpu_diff()[i], gradient[i]) << geometry << ", width " << width << ": " << i;
      }
    }
  }
}

TEST(PoolingLayer, TouchesOnlyDeclaredOperands) {
  auto x = RandomBlob({2, 2, 5, 4}, 3);
  Blob<double> y, mask;
  CheckVariants(MakeLayer(Pool("kernel_size: 3 stride: 2")).get(), {x.get()}, {&y}, {true}, false);
  CheckVariants(MakeLayer(Pool("kernel_size: 3 stride: 2")).get(), {x.get()}, {&y, &mask}, {true},
                false);
  CheckVariants(MakeLayer(Pool("pool: AVE kernel_size: 3 pad: 1")).get(), {x.get()}, {&y}, {true},
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

const char kStochastic[] = "pool: STOCHASTIC kernel_size: 2 stride: 2";

TEST(StochasticPooling, DrawsEachValueAsOftenAsItsShareOfTheWindow) {
  constexpr int kWindows = 20000;
  Blob<double> x(vector<int>{1, kWindows, 2, 2}), y;
  for (int i = 0; i < x.count(); ++i) x.mutable_cpu_data()[i] = vector<double>{1, 0, 3, 4}[i % 4];
  Caffe::set_random_seed(1);
  auto layer = MakeLayer(Pool(kStochastic));
  layer->SetUp({&x}, {&y});
  layer->Forward({&x}, {&y});
  const vector<double> first = DataOf(y);
  for (const double value : {0., 1., 3., 4.}) {
    const double share = value / 8;
    // Within five standard deviations.
    EXPECT_NEAR(std::count(first.begin(), first.end(), value), kWindows * share,
                5 * std::sqrt(kWindows * share * (1 - share)))
        << value;
  }
  std::fill_n(y.mutable_cpu_diff(), y.count(), 2.0);
  layer->Backward({&y}, {true}, {&x});
  for (int i = 0; i < x.count(); ++i)
    ASSERT_EQ(x.cpu_diff()[i], x.cpu_data()[i] == first[i / 4] ? 2 : 0) << i;
  layer->Forward({&x}, {&y});
  EXPECT_NE(DataOf(y), first);
}

TEST(StochasticPooling, TakesTheFirstIfAllAreZeroAndNothingBeyondThePlane) {
  auto x = BlobOf({1, 1, 3, 3}, {0, 0, 5, 0, 0, 0, 7, 0, 0});
  Blob<double> y;
  auto layer = MakeLayer(Pool("pool: STOCHASTIC kernel_size: 1 stride: 3"));  // 2 x 2 windows
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{0, 0, 0, 0}));
  auto whole = MakeLayer(Pool(kStochastic));
  whole->SetUp({x.get()}, {&y});
  whole->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{0, 5, 7, 0}));
  std::fill_n(y.mutable_cpu_diff(), 4, 1.0);
  whole->Backward({&y}, {true}, {x.get()});
  EXPECT_EQ(DiffOf(*x), (vector<double>{1, 0, 1, 0, 0, 0, 1, 0, 1}));
}

TEST(StochasticPooling, GivesTheExpectedValueOutsideTraining) {
  auto x = BlobOf({1, 1, 2, 4}, {1, 0, 0, 0, 3, 4, 0, 0});
  Blob<double> y;
  auto layer = MakeLayer(Pool(kStochastic), TEST);
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{26 / 8.0, 0}));
  EXPECT_ERROR(layer->Backward({&y}, {true}, {x.get()}),
               "Layer pool: STOCHASTIC pooling has no gradient in the TEST phase");
}

TEST(StochasticPooling, RecomputedForwardDrawsTheSameValues) {
  auto x = RandomBlob({2, 3, 6, 6}, 6);
  for (int i = 0; i < x->count(); ++i) x->mutable_cpu_data()[i] = std::abs(x->cpu_data()[i]);
  Blob<double> y(vector<int>{2, 3, 3, 3});
  for (int i = 0; i < y.count(); ++i) y.mutable_cpu_diff()[i] = i + 1;
  auto layer = MakeLayer(Pool(kStochastic));
  layer->SetUp({x.get()}, {&y});
  PlannedPass<double> pass(layer.get(), {x.get()}, {&y}, {true});
  EXPECT_TRUE(pass.traits().repeatable);
  Caffe::set_random_seed(7);
  const PassResult<double> planned = pass.Run(0, nullptr, nullptr);
  Caffe::set_random_seed(7);
  layer->Forward({x.get()}, {&y});
  layer->Backward({&y}, {true}, {x.get()});
  EXPECT_EQ(planned.top_data.at(0), DataOf(y));
  EXPECT_EQ(planned.bottom_diff.at(0), DiffOf(*x));
}

TEST(PoolingLayerErrors, BadParametersNameTheLayer) {
  auto x = RandomBlob({1, 1, 4, 4}, 5), flat = RandomBlob({4, 4}, 5);
  Blob<double> y;
  const auto set_up = [&](const string& param) { MakeLayer(Pool(param))->SetUp({x.get()}, {&y}); };
  EXPECT_ERROR(set_up("pool: STOCHASTIC kernel_size: 2 pad: 1"),
               "Layer pool: STOCHASTIC pooling takes no padding");
  EXPECT_ERROR(set_up("kernel_size: 2 pad: 2"), "Layer pool: the padding must be smaller");
  EXPECT_ERROR(set_up("kernel_size: 5"), "Layer pool: a kernel of 5 does not fit an input of 4");
  EXPECT_ERROR(set_up(""), "Layer pool: the kernel is missing, zero or too large");
  EXPECT_ERROR(set_up("kernel_size: 2 stride: 0"), "Layer pool: the stride must be positive");
  EXPECT_ERROR(set_up("kernel_size: 2 kernel_h: 2 kernel_w: 2"),
               "Layer pool: kernel is given twice");
  EXPECT_ERROR(set_up("global_pooling: true kernel_size: 2"),
               "Layer pool: global_pooling: true takes no kernel size");
  EXPECT_ERROR(MakeLayer(Pool("kernel_size: 2"))->SetUp({flat.get()}, {&y}),
               "Layer pool: Input must have 4 axes");
}

TEST(PoolingLayer, RoundingUpMayLeaveAWindowForALargerKernel) {
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
    EXPECT_ERROR(pooled(none), "Layer pool: a kernel of . does not fit an input of 2 with pad 0");
  for (const char* both :
       {"ceil_mode: true round_mode: FLOOR", "ceil_mode: false round_mode: CEIL"})
    EXPECT_ERROR(pooled(string("kernel_size: 2 ") + both),
                 "Layer pool: ceil_mode and round_mode contradict each other");
}

}  // namespace
}  // namespace caffe
