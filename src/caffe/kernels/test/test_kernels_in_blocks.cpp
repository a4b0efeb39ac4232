// Kernels give the same bits for channels in a plain array and in blocks.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "caffe/kernels/conv/conv.hpp"
#include "caffe/kernels/math/bias.hpp"
#include "caffe/kernels/norm/batch_norm.hpp"
#include "caffe/kernels/pooling/pooling.hpp"
#include "caffe/util/channel_shape.hpp"
#include "caffe/util/threads.hpp"

namespace caffe {
namespace kernels {
namespace {

using Values = std::vector<float>;

/// The shape of an array and a block size for its channels.
struct Layout {
  ChannelShape array;
  int block;

  ChannelShape InBlocks() const { return {array.outer, array.channels, array.inner, block}; }
  size_t count() const { return static_cast<size_t>(array.count()); }
  Values ToBlocks(const Values& values) const {
    Values blocks(values.size());
    BlocksFromArray(InBlocks(), values.data(), blocks.data());
    return blocks;
  }
};

/// Sometimes has so many values that threads share the work, or so many channels that each thread
/// has whole blocks.
Layout AnyLayout() {
  const int block = *rc::gen::element(8, 16);
  const int64_t inner = *rc::gen::weightedOneOf<int64_t>(
      {{7, rc::gen::inRange<int64_t>(1, 40)}, {1, rc::gen::just<int64_t>(2003)}});
  const int blocks = *rc::gen::weightedOneOf<int>(
      {{7, rc::gen::inRange(1, 4)}, {1, rc::gen::just(16 / block * CpuThreads())}});
  return {{*rc::gen::inRange(1, 4), block * blocks, inner}, block};
}

/// Some values are zeros of either sign.
Values AnyValues(size_t count) {
  Values values(count);
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  for (size_t i = 0; i < count; ++i) {
    const auto mixed = static_cast<uint32_t>((i + 1) * 2654435761u) ^ seed;
    const auto step = static_cast<int>(mixed >> 9) % 41 - 20;
    values[i] = mixed % 13 == 0 ? -0.0f : static_cast<float>(step) / 7;
  }
  return values;
}

bool SameBits(const Values& a, const Values& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(ChannelBlocks, HoldAllValuesOfTheArray) {
  EXPECT_TRUE(rc::check([] {
    const Layout layout = AnyLayout();
    const Values array = AnyValues(layout.count());
    const Values blocks = layout.ToBlocks(array);
    const ChannelShape& shape = layout.array;
    for (int64_t i = 0; i < static_cast<int64_t>(array.size()); ++i) {
      const int64_t inner = i % shape.inner, channel = i / shape.inner % shape.channels;
      const int64_t item = i / shape.inner / shape.channels, lane = channel % layout.block;
      const int64_t at =
          ((item * shape.channels + channel - lane) * shape.inner) + inner * layout.block + lane;
      RC_ASSERT(std::memcmp(&blocks[at], &array[i], sizeof(float)) == 0);
    }
    Values back(array.size());
    ArrayFromBlocks(layout.InBlocks(), blocks.data(), back.data());
    RC_ASSERT(SameBits(back, array));
  }));
}

TEST(KernelsInBlocks, AddBiases) {
  EXPECT_TRUE(rc::check([] {
    const Layout layout = AnyLayout();
    const Values x = AnyValues(layout.count()), bias = AnyValues(layout.array.channels);
    const Values x_blocks = layout.ToBlocks(x);
    Values y(x.size()), y_blocks(x.size());
    BiasForward<float>({}, layout.array, x.data(), bias.data(), y.data());
    BiasForward<float>({}, layout.InBlocks(), x_blocks.data(), bias.data(), y_blocks.data());
    RC_ASSERT(SameBits(layout.ToBlocks(y), y_blocks));
    Values sum(bias), sum_blocks(bias);
    BiasGradient<float>({}, layout.array, x.data(), {sum.data(), true});
    BiasGradient<float>({}, layout.InBlocks(), x_blocks.data(), {sum_blocks.data(), true});
    RC_ASSERT(SameBits(sum, sum_blocks));
  }));
}

/// Random steps after a normalisation; `scale` and `bias` have one value per channel.
AfterNormalizing<float> AnyAfter(const Values& scale, const Values& bias) {
  AfterNormalizing<float> after;
  const int steps = *rc::gen::inRange(0, 3);
  if (steps > 0) after.scale = scale.data();
  if (steps > 1) after.bias = bias.data();
  after.rectify = *rc::gen::arbitrary<bool>();
  after.slope = *rc::gen::element(0.0f, 0.25f);
  return after;
}

TEST(KernelsInBlocks, Normalize) {
  EXPECT_TRUE(rc::check([] {
    const Layout layout = AnyLayout();
    const auto channels = static_cast<size_t>(layout.array.channels);
    const Values x = AnyValues(layout.count()), scale = AnyValues(channels),
                 bias = AnyValues(channels);
    const AfterNormalizing<float> after = AnyAfter(scale, bias);
    const bool copies = *rc::gen::arbitrary<bool>();
    std::vector<Values> results[2];
    for (const bool blocks : {false, true}) {
      const ChannelShape shape = blocks ? layout.InBlocks() : layout.array;
      const Values from = blocks ? layout.ToBlocks(x) : x;
      Values y(x.size()), copy(x.size()), mean(channels), inverse(channels),
          running(2 * channels, 0.5f);
      Values count(1, 2);
      RunningStatistics<float> follow{
          0.75f, 0.25f, 0.5f, running.data(), running.data() + channels, count.data()};
      NormalizeBatch<float>({}, shape, from.data(), Epsilon::kOfVariance, 0.01f, follow,
                            mean.data(), inverse.data(), after, y.data(),
                            copies ? copy.data() : nullptr);
      Values again(x.size());
      Normalize<float>({}, shape, from.data(), mean.data(), inverse.data(), after, again.data(),
                       nullptr);
      RC_ASSERT(SameBits(again, y));
      results[blocks] = {blocks ? y : layout.ToBlocks(y),
                         blocks ? copy : layout.ToBlocks(copy),
                         mean,
                         inverse,
                         running,
                         count};
    }
    for (size_t i = 0; i < results[0].size(); ++i)
      RC_ASSERT(SameBits(results[0][i], results[1][i]));
  }));
}

TEST(KernelsInBlocks, NormalizeBackward) {
  EXPECT_TRUE(rc::check([] {
    const Layout layout = AnyLayout();
    const auto channels = static_cast<size_t>(layout.array.channels);
    const Values x = AnyValues(layout.count()), dy = AnyValues(layout.count()),
                 y = AnyValues(layout.count());
    const Values scale = AnyValues(channels), bias = AnyValues(channels),
                 mean = AnyValues(channels);
    const Values inverse(channels, 0.75f);
    const AfterNormalizing<float> after = AnyAfter(scale, bias);
    const bool stored = *rc::gen::arbitrary<bool>(), from_top = *rc::gen::arbitrary<bool>();
    const bool sums = *rc::gen::arbitrary<bool>(), constant = *rc::gen::arbitrary<bool>();
    std::vector<Values> results[2];
    for (const bool blocks : {false, true}) {
      const ChannelShape shape = blocks ? layout.InBlocks() : layout.array;
      const auto lay = [&](const Values& values) {
        return blocks ? layout.ToBlocks(values) : values;
      };
      const Values x_laid = lay(x), dy_laid = lay(dy), y_laid = lay(y);
      Values dx(x.size()), gradients(2 * channels, 0.125f), workspace(2 * channels);
      NormalizedSource<float> source;
      source.values = x_laid.data();
      source.mean = stored ? nullptr : mean.data();
      source.inverse = inverse.data();
      if (from_top && constant) source.rectified = y_laid.data();
      NormalizeGradients<float> to;
      to.dx = dx.data();
      if (sums) to.scale = {gradients.data(), true}, to.bias = {gradients.data() + channels, false};
      if (constant) {
        NormalizeBackwardConstant<float>({}, shape, source, after, dy_laid.data(), to);
      } else {
        NormalizeBackward<float>({}, shape, source, after, dy_laid.data(), to, workspace.data());
      }
      results[blocks] = {blocks ? dx : layout.ToBlocks(dx), gradients};
    }
    RC_ASSERT(SameBits(results[0][0], results[1][0]));
    RC_ASSERT(SameBits(results[0][1], results[1][1]));
  }));
}

/// Windows that may extend beyond the plane or cover nothing.
PoolingWindow AnyWindow() {
  PoolingWindow window;
  window.height = *rc::gen::inRange(1, 12);
  window.width = *rc::gen::inRange(1, 24);
  window.kernel_h = *rc::gen::inRange(1, 5);
  window.kernel_w = *rc::gen::inRange(1, 20);  // 400 positions: an index of two bytes
  if (*rc::gen::arbitrary<bool>()) window.kernel_h = 20;
  window.stride_h = *rc::gen::inRange(1, 4);
  window.stride_w = *rc::gen::inRange(1, 4);
  window.pad_h = *rc::gen::inRange(0, window.kernel_h);
  window.pad_w = *rc::gen::inRange(0, window.kernel_w);
  window.pooled_height = (window.height + window.pad_h - 1) / window.stride_h + 1;
  window.pooled_width = (window.width + window.pad_w - 1) / window.stride_w + 1;
  if (*rc::gen::arbitrary<bool>()) ++window.pooled_height, ++window.pooled_width;
  return window;
}

TEST(KernelsInBlocks, Pool) {
  EXPECT_TRUE(rc::check([] {
    PoolingWindow window = AnyWindow();
    Layout plane = AnyLayout(), pooled = plane;
    plane.array.inner = int64_t{window.height} * window.width;
    pooled.array.inner = int64_t{window.pooled_height} * window.pooled_width;
    window.planes = plane.array.outer * plane.array.channels;
    Values x = AnyValues(plane.count());
    const Values dy = AnyValues(pooled.count());
    if (*rc::gen::arbitrary<bool>()) x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    PoolingWindow in_blocks = window;
    in_blocks.block = plane.block;
    std::vector<Values> results[2];
    for (const bool blocks : {false, true}) {
      const PoolingWindow& of = blocks ? in_blocks : window;
      const Values x_laid = blocks ? plane.ToBlocks(x) : x;
      const Values dy_laid = blocks ? pooled.ToBlocks(dy) : dy;
      Values most(dy.size()), mean(dy.size()), unsaved(dy.size()), dx(x.size()), mean_dx(x.size());
      std::vector<uint8_t> index(dy.size() * PoolingIndexBytes(of));
      MaxPoolForward<float>({}, of, x_laid.data(), most.data(), index.data(), nullptr);
      MaxPoolForward<float>({}, of, x_laid.data(), unsaved.data(), nullptr, nullptr);
      RC_ASSERT(SameBits(most, unsaved));
      MaxPoolBackward<float>({}, of, dy_laid.data(), index.data(), dx.data());
      AveragePoolForward<float>({}, of, x_laid.data(), mean.data());
      AveragePoolBackward<float>({}, of, dy_laid.data(), mean_dx.data());
      results[blocks] = {most, mean, dx, mean_dx};
    }
    for (size_t i = 0; i < results[0].size(); ++i)
      RC_ASSERT(SameBits((i < 2 ? pooled : plane).ToBlocks(results[0][i]), results[1][i]));
  }));
}

/// A convolution that is computed by matrix products of column matrices.
Convolution AnyConvolution() {
  Convolution conv;
  conv.own_kernels = true;
  conv.images = *rc::gen::inRange(1, 4);
  conv.group = *rc::gen::element(1, 2);
  conv.channels = 16 * *rc::gen::inRange(1, 3);
  conv.num_output = 16 * *rc::gen::inRange(1, 3);
  conv.window.axes = 2;
  conv.window.channels = conv.channels / conv.group;
  for (int i = 0; i < 2; ++i) {
    conv.window.kernel[i] = *rc::gen::inRange(1, 4);
    conv.window.stride[i] = 2;
    conv.window.dilation[i] = 1;
    conv.window.pad[i] = *rc::gen::inRange(0, conv.window.kernel[i]);
    conv.window.image[i] = *rc::gen::inRange(3, 9);
    conv.window.output[i] =
        (conv.window.image[i] + 2 * conv.window.pad[i] - conv.window.kernel[i]) / 2 + 1;
  }
  return conv;
}

TEST(KernelsInBlocks, ConvolveByMatrixProducts) {
  using Pass = ConvolutionPass;
  EXPECT_TRUE(rc::check([] {
    const Convolution array = AnyConvolution();
    const ConvolutionBlocks takes =
        BlocksOf<float>({}, array, {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights});
    RC_ASSERT(takes.size == 1);
    RC_ASSERT(takes.spared == -3);
    Convolution laid = array;
    laid.x_block = *rc::gen::element(1, 8, 16);
    laid.y_block = *rc::gen::element(1, 8, 16);
    const Layout x_layout{{array.images, array.channels, array.window.ImageSize()}, laid.x_block};
    const Layout y_layout{{array.images, array.num_output, array.window.OutputSize()},
                          laid.y_block};
    const Values x = AnyValues(x_layout.count()), dy = AnyValues(y_layout.count());
    const Values weights =
        AnyValues(array.num_output * array.window.channels * array.window.KernelSize());
    std::vector<Values> results[2];
    for (const bool blocks : {false, true}) {
      const Convolution& conv = blocks ? laid : array;
      const Values x_laid = blocks ? x_layout.ToBlocks(x) : x;
      const Values dy_laid = blocks ? y_layout.ToBlocks(dy) : dy;
      const auto choices = ConvolutionAlgorithms<float>({}, conv, {Pass::kForward});
      RC_ASSERT(choices.size() == 1u);
      Values memory(choices[0].bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN());
      const AlgorithmRun chosen{memory.data(), {}};
      Values y(dy.size()), dx(x.size()), dweights(weights.size(), 0.5f);
      ConvolutionForward<float>({}, conv, x_laid.data(), weights.data(), y.data(), chosen);
      ConvolutionBackwardData<float>({}, conv, dy_laid.data(), weights.data(), dx.data(), chosen);
      ConvolutionBackwardWeights<float>({}, conv, x_laid.data(), dy_laid.data(),
                                        {dweights.data(), true}, chosen);
      results[blocks] = {blocks ? y : y_layout.ToBlocks(y), blocks ? dx : x_layout.ToBlocks(dx),
                         dweights};
    }
    for (size_t i = 0; i < results[0].size(); ++i)
      RC_ASSERT(SameBits(results[0][i], results[1][i]));
  }));
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
