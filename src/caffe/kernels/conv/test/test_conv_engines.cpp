// Every algorithm of a convolution, whether of a device's library or our own, gives the result of
// the matrix product.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "caffe/kernels/conv/conv.hpp"
#include "caffe/operands.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/library_settings.hpp"

namespace caffe {
namespace kernels {
namespace {

constexpr ConvolutionPass kPasses[] = {ConvolutionPass::kForward, ConvolutionPass::kBackwardData,
                                       ConvolutionPass::kBackwardWeights};

Convolution Make(int axes, int channels, int num_output, int group, int kernel, int pad, int stride,
                 int dilation) {
  Convolution conv;
  conv.images = 3;
  conv.channels = channels;
  conv.num_output = num_output;
  conv.group = group;
  conv.window.axes = axes;
  conv.window.channels = channels / group;
  for (int i = 0; i < axes; ++i) {
    const int image = 11 + i;
    conv.window.image[i] = image;
    conv.window.kernel[i] = kernel;
    conv.window.pad[i] = pad;
    conv.window.stride[i] = stride;
    conv.window.dilation[i] = dilation;
    conv.window.output[i] = static_cast<int>(OutputDim(image, kernel, pad, stride, dilation));
  }
  return conv;
}

/// A depthwise convolution of images one value wide. On it a CPU uses the code that a GPU's threads
/// use for single values.
Convolution Narrow() {
  Convolution conv = Make(2, 3, 6, 3, 3, 1, 2, 1);
  conv.window.image[1] = conv.window.output[1] = 1;
  return conv;
}

/// Small convolutions for our kernels and cuDNN, and larger ones for which oneDNN runs all passes:
/// plain, with groups and strides, dilated, with one and with three axes.
std::vector<Convolution> Examples() {
  return {Make(2, 64, 70, 1, 3, 1, 1, 1),
          Make(2, 96, 64, 2, 5, 2, 2, 1),
          Make(2, 64, 64, 1, 3, 2, 1, 2),
          Make(1, 64, 200, 1, 3, 1, 1, 1),
          Make(3, 32, 48, 1, 3, 1, 1, 1),
          Make(2, 3, 18, 1, 7, 3, 2, 1),

          Make(2, 4, 8, 1, 3, 1, 1, 1),
          Make(2, 4, 8, 1, 1, 0, 1, 1),
          Make(2, 3, 5, 1, 5, 2, 2, 1),
          Make(2, 4, 6, 2, 3, 1, 1, 1),
          Make(2, 6, 6, 6, 3, 1, 1, 1),
          Make(2, 3, 6, 3, 3, 1, 2, 1),
          Make(2, 3, 3, 3, 4, 0, 3, 2),
          Make(2, 5, 5, 5, 1, 0, 1, 1),
          Narrow(),
          Make(2, 4, 4, 1, 3, 2, 1, 2),
          Make(1, 4, 6, 1, 3, 1, 1, 1),
          Make(3, 2, 4, 1, 3, 1, 1, 1)};
}

/// Keeps measured times in a temporary folder.
class CacheFolder : public ::testing::Environment {
 public:
  void SetUp() override {
    MakeTempDir(&folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::string folder_;
};
[[maybe_unused]] ::testing::Environment* const cache_folder =
    ::testing::AddGlobalTestEnvironment(new CacheFolder);

template <typename Dtype>
class ConvolutionEngines : public ::testing::Test {
 protected:
  ConvolutionEngines() { library_settings().measure = true; }
  ~ConvolutionEngines() override { library_settings().measure = false; }

  static void Fill(int64_t count, int seed, Blob<Dtype>* blob) {
    blob->Reshape({static_cast<int>(count)});
    Dtype* const values = blob->mutable_cpu_data();
    for (int i = 0; i < count; ++i) values[i] = Dtype((i * 7 + seed * 13) % 29 - 14) / 14;
  }

  void SetUpOperands(const Convolution& conv) {
    const SlidingWindow& window = conv.window;
    Fill(conv.images * conv.channels * window.ImageSize(), 1, &x_);
    Fill(conv.images * conv.num_output * window.OutputSize(), 2, &y_);
    Fill(conv.num_output * window.channels * window.KernelSize(), 3, &w_);
  }

  /// Returns the result of `pass` with `choice`. The output starts as NaN if the pass overwrites it
  /// and as 0.25 if it adds to it (gradients of weights with `add`).
  std::vector<Dtype> Run(const Convolution& conv, ConvolutionPass pass, const Algorithm& choice,
                         bool add = true) {
    Blob<Dtype> out;
    const bool of_weights = pass == ConvolutionPass::kBackwardWeights, adds = of_weights && add;
    out.ReshapeLike(of_weights ? w_ : pass == ConvolutionPass::kForward ? y_ : x_);
    std::fill_n(out.mutable_cpu_data(), out.count(), adds ? Dtype(0.25) : Dtype(NAN));
    SyncedMemory memory(std::max<size_t>(choice.bytes, 1));
    const DeviceContext context = DeviceContext::Current();
    const AlgorithmRun chosen{context.gpu ? memory.mutable_gpu_data() : memory.mutable_cpu_data(),
                              choice.name};
    const Dtype* const w = Data(context, w_);
    Dtype* const result = MutableData(context, &out);
    switch (pass) {
      case ConvolutionPass::kForward:
        ConvolutionForward(context, conv, Data(context, x_), w, result, chosen);
        break;
      case ConvolutionPass::kBackwardData:
        ConvolutionBackwardData(context, conv, Data(context, y_), w, result, chosen);
        break;
      case ConvolutionPass::kBackwardWeights:
        ConvolutionBackwardWeights(context, conv, Data(context, x_), Data(context, y_),
                                   Accumulator<Dtype>{result, add}, chosen);
    }
    return {out.cpu_data(), out.cpu_data() + out.count()};
  }

  Blob<Dtype> x_, y_, w_;
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ConvolutionEngines, Types);

TYPED_TEST(ConvolutionEngines, AgreeWithTheMatrixProduct) {
  const double tolerance = sizeof(TypeParam) == 4 ? 1e-4 : 1e-9;
  int algorithms = 0;
  for (const Convolution& conv : Examples()) {
    this->SetUpOperands(conv);
    for (const ConvolutionPass pass : kPasses) {
      Algorithm columns;
      columns.bytes = conv.window.ColumnCount() * int64_t{sizeof(TypeParam)};
      const std::vector<TypeParam> expected = this->Run(conv, pass, columns);
      double scale = 1e-3;
      for (const TypeParam value : expected) scale = std::max(scale, std::abs(double(value)));
      for (const Algorithm& choice :
           ConvolutionAlgorithms<TypeParam>(DeviceContext::Current(), conv, {pass})) {
        if (choice.name.empty()) continue;
        ++algorithms;
        const std::vector<TypeParam> found = this->Run(conv, pass, choice);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          ASSERT_NEAR(found[i], expected[i], tolerance * scale)
              << choice.name << ", pass " << static_cast<int>(pass) << ", " << conv.window.axes
              << " axes, kernel " << conv.window.kernel[0] << ", group " << conv.group;
        }
        if (choice.deterministic) {
          EXPECT_EQ(this->Run(conv, pass, choice), found) << choice.name;
        }
        if (pass != ConvolutionPass::kBackwardWeights) continue;
        const std::vector<TypeParam> overwritten = this->Run(conv, pass, choice, false);
        for (size_t i = 0; i < found.size(); ++i) {
          ASSERT_NEAR(overwritten[i] + TypeParam(0.25), expected[i], tolerance * scale)
              << choice.name << " begins a new sum";
        }
      }
    }
  }
  EXPECT_GT(algorithms, 0);
}

#ifdef CPU_ONLY  // other builds would use the GPU's library
TYPED_TEST(ConvolutionEngines, DoNotUseOneDnnOnAGpu) {
  DeviceContext context;
  context.launch = true;  // launches kernels, but there is no library
  for (const Convolution& conv :
       {Make(2, 16, 16, 1, 3, 1, 1, 1), Make(2, 16, 16, 16, 3, 1, 1, 1)}) {
    for (const Algorithm& choice : ConvolutionAlgorithms<TypeParam>(context, conv, {kPasses[0]}))
      EXPECT_EQ(choice.name.find("onednn"), std::string::npos);
  }
}
#endif

TYPED_TEST(ConvolutionEngines, SetNewSumsToZeroWithoutImages) {
  Convolution conv = Make(2, 4, 6, 2, 3, 1, 1, 1);
  conv.images = 0;
  this->SetUpOperands(conv);
  for (const TypeParam value :
       this->Run(conv, ConvolutionPass::kBackwardWeights, Algorithm(), false))
    EXPECT_EQ(value, 0);
}

TYPED_TEST(ConvolutionEngines, NeedNoWorkspaceForDepthwiseConvolutions) {
  const std::vector<ConvolutionPass> passes{kPasses[2], kPasses[1]};
  for (const Algorithm& choice :
       ConvolutionAlgorithms<TypeParam>(DeviceContext(), Make(2, 6, 12, 6, 3, 1, 1, 1), passes)) {
    EXPECT_EQ(choice.name, "depthwise+depthwise");
    EXPECT_EQ(choice.bytes, 0);
    EXPECT_TRUE(choice.deterministic);
  }
}

TYPED_TEST(ConvolutionEngines, UseOneReproducibleAlgorithmUntilMeasured) {
  if (!DeviceContext::Current().launch) GTEST_SKIP() << "Nothing is measured on a CPU.";
  library_settings().measure = false;
  Convolution conv = Make(2, 5, 7, 1, 3, 1, 1, 1);  // not used by other tests, so not measured yet
  const std::vector<ConvolutionPass> passes{kPasses[2], kPasses[1]};
  const auto choices = [&] {
    return ConvolutionAlgorithms<TypeParam>(DeviceContext::Current(), conv, passes);
  };
  const std::vector<Algorithm> granted = choices();
  ASSERT_EQ(granted.size(), 1u);
  if (granted[0].name.empty()) GTEST_SKIP() << "This device has no library of convolutions.";
  EXPECT_NE(granted[0].name.find('+'), std::string::npos);
  EXPECT_TRUE(granted[0].deterministic);
  EXPECT_EQ(granted[0].seconds, 0);
  library_settings().measure = true;
  const std::vector<Algorithm> measured = choices();
  ASSERT_FALSE(measured.empty());
  for (const Algorithm& choice : measured) EXPECT_GT(choice.seconds, 0) << choice.name;
  library_settings().measure = false;
  EXPECT_EQ(choices().size(), measured.size());
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
