// ConvolutionDims, the description of convolutions for libraries.
#include "caffe/kernels/conv/conv_dims.hpp"

#include <gtest/gtest.h>

#include <climits>

namespace caffe {
namespace kernels {
namespace {

/// 32 images, 6 channels in, 8 out, 2 groups; axis i has image 20 + i, kernel 3 + i, pad i + 1,
/// stride 2, dilation 1.
Convolution Example(int axes) {
  Convolution conv;
  conv.images = 32;
  conv.channels = 6;
  conv.num_output = 8;
  conv.group = 2;
  conv.window.axes = axes;
  conv.window.channels = 3;
  for (int i = 0; i < axes; ++i) {
    conv.window.image[i] = 20 + i;
    conv.window.kernel[i] = 3 + i;
    conv.window.pad[i] = i + 1;
    conv.window.stride[i] = 2;
    conv.window.dilation[i] = 1;
    conv.window.output[i] = static_cast<int>(OutputDim(20 + i, 3 + i, i + 1, 2, 1));
  }
  return conv;
}

TEST(ConvolutionDims, TensorsHaveAllChannelsAndWeightsThoseOfOneGroup) {
  ConvolutionDims dims;
  ASSERT_TRUE(DimsOf(Example(2), &dims));
  EXPECT_EQ(dims.axes, 2);
  EXPECT_EQ(dims.group, 2);
  EXPECT_EQ(dims.x, (std::array<int, 5>{32, 6, 20, 21, 0}));
  EXPECT_EQ(dims.y, (std::array<int, 5>{32, 8, 10, 11, 0}));
  EXPECT_EQ(dims.w, (std::array<int, 5>{8, 3, 3, 4, 0}));
  EXPECT_EQ(dims.pad, (std::array<int, 3>{1, 2, 0}));
  EXPECT_EQ(dims.stride, (std::array<int, 3>{2, 2, 0}));
  EXPECT_EQ(dims.dilation, (std::array<int, 3>{1, 1, 0}));
  EXPECT_EQ(NameOf(dims, ConvolutionPass::kBackwardData, "float"),
            "backward_data float 32x6x20x21 8x3x3x4 pad 1x2 stride 2x2 dilation 1x1 group 2");
}

TEST(ConvolutionDims, ExtendsOneSpatialAxisToTwo) {
  ConvolutionDims dims;
  ASSERT_TRUE(DimsOf(Example(1), &dims));
  EXPECT_EQ(dims.axes, 2);
  EXPECT_EQ(dims.x, (std::array<int, 5>{32, 6, 1, 20, 0}));
  EXPECT_EQ(dims.w, (std::array<int, 5>{8, 3, 1, 3, 0}));
  EXPECT_EQ(dims.pad, (std::array<int, 3>{0, 1, 0}));
  EXPECT_EQ(dims.stride, (std::array<int, 3>{1, 2, 0}));
}

TEST(ConvolutionDims, AcceptsThreeSpatialAxesButNotMore) {
  ConvolutionDims dims;
  ASSERT_TRUE(DimsOf(Example(3), &dims));
  EXPECT_EQ(dims.axes, 3);
  EXPECT_EQ(dims.x, (std::array<int, 5>{32, 6, 20, 21, 22}));
  EXPECT_FALSE(DimsOf(Example(4), &dims));
  EXPECT_FALSE(DimsOf(Example(0), &dims));
}

TEST(ConvolutionDims, RejectsEmptyAndTooLargeTensors) {
  ConvolutionDims dims;
  Convolution conv = Example(2);
  conv.images = 0;
  EXPECT_FALSE(DimsOf(conv, &dims));
  conv.images = INT_MAX / (8 * 10 * 11);
  conv.window.image[0] = conv.window.image[1] = 4;
  EXPECT_TRUE(DimsOf(conv, &dims));
  ++conv.images;
  EXPECT_FALSE(DimsOf(conv, &dims));
}

TEST(ConvolutionDims, DifferIfAnySizeDiffers) {
  const Convolution conv = Example(2);
  std::vector<Convolution> others(8, conv);
  others[0].images = 31;
  others[1].group = 1;
  others[2].num_output = 10;
  others[3].window.pad[0] = 0;
  others[4].window.stride[1] = 1;
  others[5].window.dilation[0] = 2;
  others[6].window.kernel[1] = 2;
  others[7].window.image[0] = 19;
  ConvolutionDims dims, other;
  ASSERT_TRUE(DimsOf(conv, &dims));
  for (const Convolution& changed : others) {
    ASSERT_TRUE(DimsOf(changed, &other));
    EXPECT_NE(dims, other);
    EXPECT_NE(NameOf(dims, ConvolutionPass::kForward, "float"),
              NameOf(other, ConvolutionPass::kForward, "float"));
  }
  EXPECT_NE(NameOf(dims, ConvolutionPass::kForward, "float"),
            NameOf(dims, ConvolutionPass::kForward, "double"));
}

TEST(ConvolutionAlgorithms, UseAColumnMatrixOrNoWorkspaceWithoutALibrary) {
  const std::vector<ConvolutionPass> passes{ConvolutionPass::kBackwardWeights,
                                            ConvolutionPass::kBackwardData};
  Convolution conv = Example(2);
  const std::vector<Algorithm> columns = ConvolutionAlgorithms<double>({}, conv, passes);
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].name, "");
  EXPECT_EQ(columns[0].bytes, 3 * 3 * 4 * 10 * 11 * 8);
  EXPECT_TRUE(ConvolutionAlgorithms<double>({}, conv, {}).empty());
  for (int i = 0; i < 2; ++i) conv.window.kernel[i] = conv.window.stride[i] = 1;
  for (int i = 0; i < 2; ++i) conv.window.pad[i] = 0;
  EXPECT_TRUE(ConvolutionAlgorithms<double>({}, conv, passes).empty());
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
