// Im2col and SPP, which use the windows of convolution and pooling.
#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Im2col(const string& param) {
  return "name: 'columns' type: 'Im2col' convolution_param { " + param + " }";
}

string Spp(const string& param) { return "name: 'spp' type: 'SPP' spp_param { " + param + " }"; }

TEST(Im2col, GivesTheColumnsOfEachImage) {
  auto x = BlobOf({2, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Blob<double> y;
  auto layer = MakeLayer(Im2col("kernel_size: 2"));
  layer->SetUp({x.get()}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{2, 4, 1, 2}));
  layer->Forward({x.get()}, {&y});
  EXPECT_EQ(DataOf(y), (vector<double>{1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11, 12}));
}

TEST(Im2col, HasTheShapeOfItsWindows) {
  const auto shape = [](const string& param, const vector<int>& bottom) {
    Blob<double> x(bottom), y;
    MakeLayer(Im2col(param))->SetUp({&x}, {&y});
    return y.shape();
  };
  EXPECT_EQ(shape("kernel_size: 3 stride: 2 pad: 1 dilation: 2", {2, 3, 7, 9}),
            (vector<int>{2, 27, 3, 4}));
  EXPECT_EQ(shape("kernel_h: 1 kernel_w: 3 axis: 2", {2, 3, 4, 5, 6}),
            (vector<int>{2, 3, 12, 5, 4}));
  EXPECT_EQ(shape("kernel_size: 2", {2, 3, 4, 5, 6}), (vector<int>{2, 24, 3, 4, 5}));
  EXPECT_EQ(shape("kernel_size: 2", {2, 3, 4}), (vector<int>{2, 6, 3}));
}

TEST(Im2col, GivesTheGradient) {
  for (const char* param : {"kernel_size: 2 pad: 1 stride: 2", "kernel_size: 2 dilation: 2",
                            "kernel_size: 2 pad: 1 force_nd_im2col: true"})
    CheckAllVariants(Im2col(param), {{1, 2, 3, 3}}, 1, 1);
  CheckAllVariants(Im2col("kernel_size: 2"), {{2, 1, 3, 2, 2}}, 1, 1);
  CheckAllVariants(Im2col("kernel_size: 2 axis: 0"), {{2, 5}}, 1, 1);
}

TEST(Im2col, GivesTheSameWithForceNdIm2col) {
  auto x = RandomBlob({2, 3, 6, 5}, 1);
  Blob<double> plane, general;
  const string param = "kernel_size: 3 stride: 2 pad: 2 dilation: 2 ";
  auto first = MakeLayer(Im2col(param)),
       second = MakeLayer(Im2col(param + "force_nd_im2col: true"));
  first->SetUp({x.get()}, {&plane});
  second->SetUp({x.get()}, {&general});
  first->Forward({x.get()}, {&plane});
  second->Forward({x.get()}, {&general});
  EXPECT_EQ(DataOf(plane), DataOf(general));
}

TEST(Im2colErrors, NamesTheLayerOfAKernelThatDoesNotFit) {
  auto x = RandomBlob({1, 1, 2, 4}, 1), flat = RandomBlob({2, 3}, 1);
  Blob<double> y;
  EXPECT_ERROR(MakeLayer(Im2col("kernel_size: 3"))->SetUp({x.get()}, {&y}),
               "Layer columns: the kernel does not fit spatial axis 0");
  EXPECT_ERROR(MakeLayer(Im2col("kernel_size: 3 stride: 9"))->SetUp({x.get()}, {&y}),
               "Layer columns: the kernel does not fit spatial axis 0");
  EXPECT_ERROR(MakeLayer(Im2col(""))->SetUp({x.get()}, {&y}), "Layer columns: kernel_size");
  EXPECT_ERROR(MakeLayer(Im2col("kernel_size: 1"))->SetUp({flat.get()}, {&y}),
               "Layer columns: its input, .* has no spatial axes after axis 1");
}

TEST(Spp, PoolsEachLevelOfThePyramid) {
  Blob<double> x(vector<int>{1, 2, 3, 4}), y;
  for (int i = 0; i < 24; ++i) x.mutable_cpu_data()[i] = i;
  auto layer = MakeLayer(Spp("pyramid_height: 2"));
  layer->SetUp({&x}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{1, 10}));
  layer->Forward({&x}, {&y});
  // Level 1 has kernels of 2 x 2 and one row of padding.
  EXPECT_EQ(DataOf(y), (vector<double>{11, 23, 1, 3, 9, 11, 13, 15, 21, 23}));
  auto mean = MakeLayer(Spp("pyramid_height: 1 pool: AVE"));
  mean->SetUp({&x}, {&y});
  mean->Forward({&x}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{1, 2}));
  EXPECT_EQ(DataOf(y), (vector<double>{5.5, 17.5}));
}

TEST(Spp, HasOneWidthForImagesOfAllSizes) {
  Blob<double> y;
  auto layer = MakeLayer(Spp("pyramid_height: 3"));
  Blob<double> first(vector<int>{2, 3, 9, 8}), second(vector<int>{1, 3, 4, 14});
  layer->SetUp({&first}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{2, 63}));
  layer->Forward({&second}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{1, 63}));
}

TEST(Spp, GivesTheGradientAndTouchesOnlyDeclaredOperands) {
  const vector<int> plane = {1, 1, 4, 7}, images = {2, 2, 3, 2};
  for (const auto& [param, shape] :
       {pair("pyramid_height: 3", plane), pair("pyramid_height: 1", images),
        pair("pyramid_height: 2 pool: AVE", images)}) {
    CheckAllVariants(Spp(param), {shape}, 1, 1);
    auto x = RandomBlob(shape, 3);
    Blob<double> y;
    CheckVariants(MakeLayer(Spp(param)).get(), {x.get()}, {&y}, {true}, false);
  }
}

TEST(SppErrors, RejectsImpossiblePyramidHeights) {
  auto x = RandomBlob({1, 1, 5, 8}, 1), flat = RandomBlob({2, 3}, 1);
  Blob<double> y;
  EXPECT_ERROR(MakeLayer(Spp("pyramid_height: 3 pool: STOCHASTIC"))->SetUp({x.get()}, {&y}),
               "Layer spp: STOCHASTIC pooling is not implemented");
  EXPECT_ERROR(MakeLayer(Spp(""))->SetUp({x.get()}, {&y}),
               "Layer spp: pyramid_height must be 1 to 31, not 0");
  EXPECT_ERROR(MakeLayer(Spp("pyramid_height: 4"))->SetUp({x.get()}, {&y}),
               "Layer spp: level 2 of the pyramid does not divide an input of 5 x 8");
  EXPECT_ERROR(MakeLayer(Spp("pyramid_height: 1"))->SetUp({flat.get()}, {&y}),
               "Layer spp: Input must have 4 axes");
}

}  // namespace
}  // namespace caffe
