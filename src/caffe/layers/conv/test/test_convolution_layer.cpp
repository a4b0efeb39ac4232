#include <gtest/gtest.h>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

const char kFillers[] = " weight_filler { type: 'gaussian' } bias_filler { type: 'gaussian' }";

string Conv(const string& param) {
  return "name: 'conv' type: 'Convolution' convolution_param { num_output: 4 " + param + kFillers +
         " }";
}

/// The definition of a grouped convolution over two axes, one multiplication at a time.
vector<double> Reference(const Blob<double>& x, const Blob<double>& w, const Blob<double>& bias,
                         int group, int stride, int pad, int dilation, const Blob<double>& like) {
  vector<double> y(like.count());
  for (int n = 0; n < like.num(); ++n) {
    for (int o = 0; o < like.channels(); ++o) {
      for (int yy = 0; yy < like.height(); ++yy) {
        for (int xx = 0; xx < like.width(); ++xx) {
          double sum = bias.cpu_data()[o];
          for (int c = 0; c < w.channels(); ++c) {
            for (int ky = 0; ky < w.height(); ++ky) {
              for (int kx = 0; kx < w.width(); ++kx) {
                const int iy = yy * stride - pad + ky * dilation,
                          ix = xx * stride - pad + kx * dilation;
                if (iy < 0 || iy >= x.height() || ix < 0 || ix >= x.width()) continue;
                const int channel = o / (like.channels() / group) * w.channels() + c;
                sum += x.data_at(n, channel, iy, ix) * w.data_at(o, c, ky, kx);
              }
            }
          }
          y[like.offset(n, o, yy, xx)] = sum;
        }
      }
    }
  }
  return y;
}

struct Geometry {
  const char* param;
  int group, stride, pad, dilation;
  vector<int> top_shape;
};

class ConvolutionValues : public testing::TestWithParam<Geometry> {};

TEST_P(ConvolutionValues, FollowTheDefinition) {
  const Geometry& geometry = GetParam();
  for (const char* force : {"", " force_nd_im2col: true"}) {
    auto x = RandomBlob({2, 6, 7, 5}, 1);
    Blob<double> y;
    auto layer = MakeLayer(Conv(geometry.param + string(force)));
    layer->SetUp({x.get()}, {&y});
    layer->Forward({x.get()}, {&y});
    ASSERT_EQ(y.shape(), geometry.top_shape);
    const vector<double> expected =
        Reference(*x, *layer->blobs()[0], *layer->blobs()[1], geometry.group, geometry.stride,
                  geometry.pad, geometry.dilation, y);
    for (int i = 0; i < y.count(); ++i)
      ASSERT_NEAR(y.cpu_data()[i], expected[i], 1e-10) << i << force;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Geometries, ConvolutionValues,
    testing::Values(Geometry{"kernel_size: 3", 1, 1, 0, 1, {2, 4, 5, 3}},
                    Geometry{"kernel_size: 3 stride: 2 pad: 1 group: 2", 2, 2, 1, 1, {2, 4, 4, 3}},
                    Geometry{"kernel_size: 2 dilation: 2 pad: 3", 1, 1, 3, 2, {2, 4, 11, 9}},
                    Geometry{
                        "kernel_size: 3 stride: 3 pad: 2 dilation: 2", 1, 3, 2, 2, {2, 4, 3, 2}},
                    Geometry{"kernel_size: 1", 1, 1, 0, 1, {2, 4, 7, 5}},
                    Geometry{"kernel_size: 1 stride: 2", 1, 2, 0, 1, {2, 4, 4, 3}},
                    Geometry{"kernel_size: 1 group: 2", 2, 1, 0, 1, {2, 4, 7, 5}}));

/// The shapes of weights and top for an input of 2 x 3 x 4 x 8 x 9 values, and the values of both.
vector<vector<double>> VolumeOf(const string& type, const string& param) {
  Caffe::set_random_seed(1701);
  auto x = RandomBlob({2, 3, 4, 8, 9}, 1);
  Blob<double> y;
  auto layer = MakeLayer("name: 'conv' type: '" + type + "' convolution_param { num_output: 4 " +
                         param + kFillers + " }");
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  const Blob<double>& weights = *layer->blobs()[0];
  return {vector<double>(weights.shape().begin(), weights.shape().end()),
          vector<double>(y.shape().begin(), y.shape().end()),
          vector<double>(weights.cpu_data(), weights.cpu_data() + weights.count()),
          vector<double>(y.cpu_data(), y.cpu_data() + y.count())};
}

TEST(Convolution, KernelShapeOfForksGivesOneSizePerAxis) {
  const string shapes =
      "kernel_shape { dim: 1 dim: 3 dim: 2 } stride_shape { dim: 1 dim: 2 dim: 2 } "
      "pad_shape { dim: 0 dim: 1 dim: 0 }";
  const auto expected = VolumeOf("Convolution",
                                 "kernel_size: 1 kernel_size: 3 kernel_size: 2 stride: 1 stride: 2 "
                                 "stride: 2 pad: 0 pad: 1 pad: 0");
  EXPECT_EQ(expected[0], (vector<double>{4, 3, 1, 3, 2}));
  EXPECT_EQ(expected[1], (vector<double>{2, 4, 4, 4, 4}));
  for (const char* type : {"Convolution", "NdConvolution"}) {
    EXPECT_EQ(VolumeOf(type, shapes), expected) << type;
    EXPECT_EQ(VolumeOf(type, shapes + " stride: 1 stride: 2 stride: 2"), expected) << type;
  }
  EXPECT_EQ(VolumeOf("NdConvolution", "kernel_shape { dim: 4 dim: 3 dim: 3 } stride: 1"),
            VolumeOf("Convolution", "kernel_size: 4 kernel_size: 3 kernel_size: 3"));
}

TEST(Convolution, RejectsContradictingKernelShapes) {
  // (No structured binding: clang 14 lets no lambda capture one.)
  for (const std::pair<string, string>& each : vector<std::pair<string, string>>{
           {"kernel_shape { dim: 3 dim: 3 }", "kernel_shape has 2 values, and the input 3"},
           {"kernel_shape { dim: 3 dim: 3 dim: 3 } stride_shape { dim: 1 }",
            "stride_shape has 1 values, and the input 3"},
           {"kernel_shape { dim: 3 dim: 3 dim: 3 } stride: 2",
            "with kernel_shape, stride_shape is used, but stride differs from it"},
           {"kernel_shape { dim: 3 dim: 3 dim: 3 } kernel_size: 2",
            "kernel_shape is used, but kernel_size differs from it"},
           {"kernel_shape { dim: 3 dim: 0 dim: 3 }", "kernel_shape of spatial dimension 1 is"},
           {"kernel_shape { dim: 3 dim: 3 dim: 4294967296 }",
            "kernel_shape of spatial dimension 2 is"},
           {"kernel_shape { dim: 3 dim: 3 dim: 3 } pad_shape { dim: 0 dim: 0 dim: -1 }",
            "pad_shape of spatial dimension 2 is"},
           {"kernel_size: 3 pad_shape { dim: 1 dim: 1 dim: 1 }",
            "stride_shape and pad_shape need a kernel_shape"}})
    EXPECT_ERROR(VolumeOf("NdConvolution", each.first), "Layer conv: .*" + each.second);
}

TEST(ConvolutionLayer, TakesKernelPerAxisAndAnyNumberOfAxes) {
  auto x = RandomBlob({1, 2, 5, 4, 6}, 2);
  Blob<double> y;
  MakeLayer(Conv("kernel_size: 3 kernel_size: 1 kernel_size: 2 stride: 2 pad: 1 pad: 0 pad: 2"))
      ->SetUp({x.get()}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{1, 4, 3, 2, 5}));
  auto line = RandomBlob({3, 2, 9}, 2);
  MakeLayer(Conv("kernel_size: 4"))->SetUp({line.get()}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{3, 4, 6}));
  auto plane = RandomBlob({1, 2, 8, 9}, 2);
  MakeLayer(Conv("kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 0"))
      ->SetUp({plane.get()}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{1, 4, 4, 8}));
  auto row = RandomBlob({2, 3, 5}, 2);
  MakeLayer(Conv("axis: 2 kernel_size: 1"))->SetUp({row.get()}, {&y});
  EXPECT_EQ(y.shape(), (vector<int>{2, 3, 4}));
}

TEST(ConvolutionLayer, GivesTheGradient) {
  for (const char* param :
       {"kernel_size: 3 stride: 2 pad: 1 group: 2", "kernel_size: 1", "kernel_size: 2 dilation: 2",
        "kernel_size: 2 force_nd_im2col: true bias_term: false"}) {
    auto x = RandomBlob({2, 2, 4, 3}, 3);
    Blob<double> y;
    GradientChecker<double> checker(1e-2, 1e-6);
    checker.CheckGradientExhaustive(MakeLayer(Conv(param)).get(), {x.get()}, {&y});
    checker.set_variant(0);
    checker.CheckGradient(MakeLayer(Conv(param)).get(), {x.get()}, {&y});
  }
  auto volume = RandomBlob({1, 2, 3, 3, 2}, 4), wide = RandomBlob({1, 4, 3, 3}, 5);
  Blob<double> y;
  GradientChecker<double>(1e-2, 1e-6)
      .CheckGradient(MakeLayer(Conv("kernel_size: 2 group: 2")).get(), {wide.get()}, {&y});
  GradientChecker<double>(1e-2, 1e-6)
      .CheckGradient(MakeLayer(Conv("kernel_size: 2 stride: 2 pad: 1")).get(), {volume.get()},
                     {&y});
}

TEST(ConvolutionLayer, TouchesOnlyDeclaredOperandsAndMayAliasAsDeclared) {
  auto a = RandomBlob({2, 2, 4, 3}, 5), b = RandomBlob({2, 2, 4, 3}, 6);
  Blob<double> y, z;
  const string text = Conv("kernel_size: 3 pad: 1");
  CheckVariants(MakeLayer(text).get(), {a.get(), b.get()}, {&y, &z}, {true, true}, false);
  CheckVariants(MakeLayer(text).get(), {a.get(), b.get()}, {&y, &z}, {false, true}, false);
  auto fixed = MakeLayer(Conv("kernel_size: 1"));
  fixed->set_param_propagate_down(0, false);
  CheckVariants(fixed.get(), {a.get()}, {&y}, {true}, false);
}

TEST(ConvolutionLayer, NeedsOneColumnMatrixOfOneGroupOrNoWorkspace) {
  if (DeviceContext::Current().launch) GTEST_SKIP() << "A GPU's library has algorithms of its own.";
  auto x = RandomBlob({2, 6, 7, 5}, 7);
  Blob<double> y;
  auto layer = MakeLayer(Conv("kernel_size: 3 group: 2"));
  layer->SetUp({x.get()}, {&y});
  const MemoryTraits traits = layer->Traits({x.get()}, {&y}, {true});
  EXPECT_EQ(DirectAlgorithm(traits.forward).bytes, 3 * 9 * 15 * 8);
  EXPECT_EQ(DirectAlgorithm(traits.backward[0]).bytes, 3 * 9 * 15 * 8);
  EXPECT_EQ(traits.forward.flops, 2.0 * 2 * 4 * 15 * 3 * 9);
  layer = MakeLayer(Conv("kernel_size: 1"));
  layer->SetUp({x.get()}, {&y});
  EXPECT_EQ(DirectAlgorithm(layer->Traits({x.get()}, {&y}, {true}).forward).bytes, 0);
}

TEST(ConvolutionLayer, BackwardWithoutDataGradientDoesNotReadWeights) {
  auto x = RandomBlob({1, 2, 4, 4}, 8);
  Blob<double> y;
  auto layer = MakeLayer(Conv("kernel_size: 3"));
  layer->SetUp({x.get()}, {&y});
  const vector<Operand> reads = layer->Traits({x.get()}, {&y}, {false}).backward[0].reads;
  EXPECT_EQ(std::count(reads.begin(), reads.end(), ParamData(0)), 0);
}

TEST(ConvolutionLayerErrors, BadParametersNameTheLayer) {
  auto x = RandomBlob({1, 3, 4, 4}, 9);
  Blob<double> y;
  const auto set_up = [&](const string& param) { MakeLayer(Conv(param))->SetUp({x.get()}, {&y}); };
  EXPECT_ERROR(set_up("kernel_size: 7"), "Layer conv: the kernel does not fit");
  EXPECT_ERROR(set_up("kernel_size: 3 group: 2"),
               "Layer conv: group .2. must divide the 3 channels");
  EXPECT_ERROR(set_up(""), "Layer conv: kernel_size of spatial dimension 0 is missing");
  EXPECT_ERROR(set_up("kernel_size: 3 kernel_h: 2"), "Layer conv: either kernel_size");
  EXPECT_ERROR(set_up("kernel_size: 3 stride: 0"), "Layer conv: stride");
  EXPECT_ERROR(set_up("kernel_size: 1 kernel_size: 1 kernel_size: 1"),
               "Layer conv: kernel_size must be specified once");
}

}  // namespace
}  // namespace caffe
