#include <gtest/gtest.h>

#include <numeric>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string Layer(const string& type, int num_output, const string& param) {
  return "name: 'deconv' type: '" + type +
         "' convolution_param { num_output: " + std::to_string(num_output) + " " + param +
         " weight_filler { type: 'gaussian' } bias_filler { type: 'gaussian' } }";
}
string Deconv(const string& param) { return Layer("Deconvolution", 4, param); }

double Dot(const Blob<double>& a, const Blob<double>& b) {
  return std::inner_product(a.cpu_data(), a.cpu_data() + a.count(), b.cpu_data(), 0.);
}

/// Shapes: two images of 4 channels -> the deconvolution's two images of 6.
struct Geometry {
  const char* param;
  vector<int> bottom_shape, top_shape;
};

class DeconvolutionValues : public testing::TestWithParam<Geometry> {};

TEST_P(DeconvolutionValues, AreTheAdjointOfConvolutionPlusTheBias) {
  const Geometry& geometry = GetParam();
  for (const char* force : {"", " force_nd_im2col: true"}) {
    const string param = geometry.param + string(force);
    auto y = RandomBlob(geometry.bottom_shape, 1), z = RandomBlob(geometry.top_shape, 2);
    Blob<double> deconvolved, convolved;
    auto deconv = MakeLayer(Layer("Deconvolution", 6, param));
    deconv->SetUp({y.get()}, {&deconvolved});
    ASSERT_EQ(deconvolved.shape(), geometry.top_shape);
    auto conv = MakeLayer(Layer("Convolution", 4, param + " bias_term: false"));
    conv->SetUp({z.get()}, {&convolved});
    ASSERT_EQ(convolved.shape(), geometry.bottom_shape);
    ASSERT_EQ(conv->blobs()[0]->shape(), deconv->blobs()[0]->shape());
    conv->blobs()[0]->CopyFrom(*deconv->blobs()[0]);
    deconv->Forward({y.get()}, {&deconvolved});
    conv->Forward({z.get()}, {&convolved});
    const int plane = deconvolved.count(2);
    for (int i = 0; i < deconvolved.count(); ++i) {
      deconvolved.mutable_cpu_data()[i] -= deconv->blobs()[1]->cpu_data()[i / plane % 6];
    }
    EXPECT_NEAR(Dot(deconvolved, *z), Dot(*y, convolved), 1e-9) << param;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Geometries, DeconvolutionValues,
    testing::Values(Geometry{"kernel_size: 4 stride: 2 pad: 1", {2, 4, 3, 5}, {2, 6, 6, 10}},
                    Geometry{"kernel_size: 3 stride: 2 group: 2", {2, 4, 3, 2}, {2, 6, 7, 5}},
                    Geometry{"kernel_size: 2 dilation: 3", {2, 4, 3, 2}, {2, 6, 6, 5}},
                    Geometry{"kernel_size: 1", {2, 4, 3, 2}, {2, 6, 3, 2}},
                    Geometry{"kernel_size: 1 stride: 3 group: 2", {2, 4, 3, 2}, {2, 6, 7, 4}},
                    Geometry{"kernel_size: 3 stride: 2", {2, 4, 4}, {2, 6, 9}},
                    Geometry{"kernel_size: 2 stride: 2", {2, 4, 2, 1, 3}, {2, 6, 4, 2, 6}}));

TEST(DeconvolutionLayer, EnlargesWithBilinearWeights) {
  auto x = BlobOf({1, 2, 1, 3}, {1, 2, 4, 10, 20, 40});
  Blob<double> y;
  auto layer = MakeLayer(
      "type: 'Deconvolution' convolution_param { num_output: 2 group: 2 kernel_size: 4 stride: 2 "
      "pad: 1 bias_term: false weight_filler { type: 'bilinear' } }");
  layer->SetUp({x.get()}, {&y});
  layer->Forward({x.get()}, {&y});
  ASSERT_EQ(y.shape(), (vector<int>{1, 2, 2, 6}));
  // Between two values, 3/4 of one and 1/4 of the other. Only 3/4 of the single row reaches a row
  // of the top.
  const vector<double> row = {0.75, 1.25, 1.75, 2.5, 3.5, 3};
  for (int i = 0; i < 6; ++i) {
    EXPECT_DOUBLE_EQ(y.data_at(0, 0, 0, i), 0.75 * row[i]);
    EXPECT_DOUBLE_EQ(y.data_at(0, 1, 1, i), 7.5 * row[i]);
  }
}

TEST(DeconvolutionLayer, GivesTheGradient) {
  for (const char* param :
       {"kernel_size: 3 stride: 2 pad: 1 group: 2", "kernel_size: 1", "kernel_size: 2 dilation: 2",
        "kernel_size: 2 force_nd_im2col: true bias_term: false"}) {
    auto x = RandomBlob({2, 2, 2, 3}, 3);
    Blob<double> y;
    GradientChecker<double> checker(1e-2, 1e-6);
    checker.CheckGradientExhaustive(MakeLayer(Deconv(param)).get(), {x.get()}, {&y});
    checker.set_variant(0);
    checker.CheckGradient(MakeLayer(Deconv(param)).get(), {x.get()}, {&y});
  }
  auto volume = RandomBlob({1, 2, 2, 2, 2}, 4);
  Blob<double> y;
  GradientChecker<double>(1e-2, 1e-6)
      .CheckGradient(MakeLayer(Deconv("kernel_size: 2 stride: 2")).get(), {volume.get()}, {&y});
}

TEST(DeconvolutionLayer, TouchesOnlyDeclaredOperandsAndMayAliasAsDeclared) {
  auto a = RandomBlob({2, 2, 3, 3}, 5), b = RandomBlob({2, 2, 3, 3}, 6);
  Blob<double> y, z;
  const string text = Deconv("kernel_size: 3 pad: 1 stride: 2");
  CheckVariants(MakeLayer(text).get(), {a.get(), b.get()}, {&y, &z}, {true, true}, false);
  CheckVariants(MakeLayer(text).get(), {a.get(), b.get()}, {&y, &z}, {false, true}, false);
  auto fixed = MakeLayer(Deconv("kernel_size: 1"));
  fixed->set_param_propagate_down(0, false);
  CheckVariants(fixed.get(), {a.get()}, {&y}, {true}, false);
}

TEST(DeconvolutionLayer, NeedsOneColumnMatrixOfOneGroupOrNoWorkspace) {
  if (DeviceContext::Current().launch) GTEST_SKIP() << "A GPU's library has algorithms of its own.";
  auto x = RandomBlob({2, 6, 3, 5}, 7);
  Blob<double> y;
  auto layer = MakeLayer(Deconv("kernel_size: 3 group: 2"));
  layer->SetUp({x.get()}, {&y});
  const MemoryTraits traits = layer->Traits({x.get()}, {&y}, {true});
  EXPECT_EQ(DirectAlgorithm(traits.forward).bytes, 2 * 9 * 15 * 8);
  EXPECT_EQ(DirectAlgorithm(traits.backward[0]).bytes, 2 * 9 * 15 * 8);
  EXPECT_EQ(traits.forward.flops, 2.0 * 2 * 6 * 15 * 2 * 9);
  layer = MakeLayer(Deconv("kernel_size: 1"));
  layer->SetUp({x.get()}, {&y});
  EXPECT_EQ(DirectAlgorithm(layer->Traits({x.get()}, {&y}, {true}).forward).bytes, 0);
}

TEST(DeconvolutionLayerErrors, BadParametersNameTheLayer) {
  auto x = RandomBlob({1, 3, 1, 1}, 9);
  Blob<double> y;
  const auto set_up = [&](const string& param) {
    MakeLayer(Deconv(param))->SetUp({x.get()}, {&y});
  };
  EXPECT_ERROR(set_up("kernel_size: 2 pad: 1"), "Layer deconv: spatial axis 0 of its output has");
  x->Reshape({1, 3, 3, 1});
  EXPECT_ERROR(set_up("kernel_size: 1 stride: 2147483647"), "Layer deconv: spatial axis 0");
  EXPECT_ERROR(set_up("kernel_size: 3 group: 2"), "Layer deconv: group .2. must divide the 3");
}

}  // namespace
}  // namespace caffe
