#include <gtest/gtest.h>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string Conv(const string& type, const string& param) {
  return "name: 'conv' type: '" + type + "' convolution_param { num_output: 6 kernel_size: 3 " +
         param + " weight_filler { type: 'gaussian' } bias_filler { type: 'gaussian' } }";
}

class DepthwiseConvolution : public testing::TestWithParam<const char*> {};

TEST_P(DepthwiseConvolution, IsAConvolutionWithAGroupForEachChannel) {
  for (const string param : {"", "pad: 1 stride: 2", "pad: 2 dilation: 2"}) {
    auto x = RandomBlob({2, 3, 7, 5}, 1);
    Blob<double> y, expected;
    auto layer = MakeLayer(Conv(GetParam(), param));
    auto grouped = MakeLayer(Conv("Convolution", param + " group: 3"));
    layer->SetUp({x.get()}, {&y});
    grouped->SetUp({x.get()}, {&expected});
    EXPECT_STREQ(layer->type(), GetParam());
    ASSERT_EQ(layer->blobs().size(), 2u);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(layer->blobs()[i]->shape(), grouped->blobs()[i]->shape());
      grouped->blobs()[i]->CopyFrom(*layer->blobs()[i]);
    }
    layer->Forward({x.get()}, {&y});
    grouped->Forward({x.get()}, {&expected});
    EXPECT_EQ(y.shape(), expected.shape());
    EXPECT_EQ(DataOf(y), DataOf(expected));
  }
}

TEST_P(DepthwiseConvolution, HasTheMemoryTraitsOfAGroupedConvolution) {
  auto x = RandomBlob({2, 3, 7, 5}, 2);
  Blob<double> y;
  auto layer = MakeLayer(Conv(GetParam(), "group: 3"));
  auto grouped = MakeLayer(Conv("Convolution", "group: 3"));
  for (auto* either : {layer.get(), grouped.get()}) either->SetUp({x.get()}, {&y});
  const MemoryTraits traits = layer->Traits({x.get()}, {&y}, {true});
  const MemoryTraits expected = grouped->Traits({x.get()}, {&y}, {true});
  EXPECT_TRUE(traits.declared);
  EXPECT_EQ(traits.forward.reads, expected.forward.reads);
  EXPECT_EQ(traits.forward.flops, expected.forward.flops);
  ASSERT_EQ(traits.backward.size(), expected.backward.size());
  EXPECT_EQ(traits.backward[0].reads, expected.backward[0].reads);
}

TEST_P(DepthwiseConvolution, HasTheGradientOfItsForward) {
  auto x = RandomBlob({2, 3, 5, 4}, 3);
  Blob<double> y;
  auto layer = MakeLayer(Conv(GetParam(), "pad: 1 stride: 2"));
  CheckVariants(layer.get(), {x.get()}, {&y}, {true}, false);
  GradientChecker<double> checker(1e-3, 1e-4);
  checker.CheckGradientExhaustive(MakeLayer(Conv(GetParam(), "pad: 1 stride: 2")).get(), {x.get()},
                                  {&y});
}

TEST_P(DepthwiseConvolution, RejectsAnotherNumberOfGroups) {
  auto x = RandomBlob({1, 3, 5, 5}, 4);
  Blob<double> y;
  EXPECT_ERROR(MakeLayer(Conv(GetParam(), "group: 1"))->SetUp({x.get()}, {&y}),
               "Layer conv: .* has a group for each channel of its input, 3; group is 1");
}

INSTANTIATE_TEST_SUITE_P(Names, DepthwiseConvolution,
                         testing::Values("DepthwiseConvolution", "ConvolutionDepthwise"));

}  // namespace
}  // namespace caffe
