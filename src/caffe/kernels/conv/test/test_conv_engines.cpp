// Every algorithm that is offered for a convolution, by a device's library or by our own kernels,
// computes what the product of matrices computes there.
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

/// A depthwise convolution of images a single value wide, where a CPU does what threads of a GPU do
/// for each value.
Convolution Narrow() {
  Convolution conv = Make(2, 3, 6, 3, 3, 1, 2, 1);
  conv.window.image[1] = conv.window.output[1] = 1;
  return conv;
}

/// Small ones for kernels of ours and cuDNN; ones of more weights, for oneDNN in all passes: plain,
/// with groups and strides, dilated, of one and of three axes.
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

/// What is measured goes to a folder of the test's own.
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

  /// What `pass` gives by `choice`; NaN was there before it where it overwrites, 0.25 where it
  /// adds: gradients of weights, with `add`.
  std::vector<Dtype> Run(const Convolution& conv, ConvolutionPass pass, const Workspace& choice,
                         bool add = true) {
    Blob<Dtype> out;
    const bool of_weights = pass == ConvolutionPass::kBackwardWeights, adds = of_weights && add;
    out.ReshapeLike(of_weights ? w_ : pass == ConvolutionPass::kForward ? y_ : x_);
    std::fill_n(out.mutable_cpu_data(), out.count(), adds ? Dtype(0.25) : Dtype(NAN));
    SyncedMemory memory(std::max<size_t>(choice.bytes, 1));
    const DeviceContext context = DeviceContext::Current();
    const AlgorithmScratch scratch{
        context.gpu ? memory.mutable_gpu_data() : memory.mutable_cpu_data(), choice.name};
    const Dtype* const w = Data(context, w_);
    Dtype* const result = MutableData(context, &out);
    switch (pass) {
      case ConvolutionPass::kForward:
        ConvolutionForward(context, conv, Data(context, x_), w, result, scratch);
        break;
      case ConvolutionPass::kBackwardData:
        ConvolutionBackwardData(context, conv, Data(context, y_), w, result, scratch);
        break;
      case ConvolutionPass::kBackwardWeights:
        ConvolutionBackwardWeights(context, conv, Data(context, x_), Data(context, y_),
                                   Accumulator<Dtype>{result, add}, scratch);
    }
    return {out.cpu_data(), out.cpu_data() + out.count()};
  }

  Blob<Dtype> x_, y_, w_;
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ConvolutionEngines, Types);

TYPED_TEST(ConvolutionEngines, AgreeWithTheProductOfMatrices) {
  const double tolerance = sizeof(TypeParam) == 4 ? 1e-4 : 1e-9;
  int algorithms = 0;
  for (const Convolution& conv : Examples()) {
    this->SetUpOperands(conv);
    for (const ConvolutionPass pass : kPasses) {
      Workspace columns;
      columns.bytes = conv.window.ColumnCount() * int64_t{sizeof(TypeParam)};
      const std::vector<TypeParam> expected = this->Run(conv, pass, columns);
      double scale = 1e-3;
      for (const TypeParam value : expected) scale = std::max(scale, std::abs(double(value)));
      for (const Workspace& choice :
           ConvolutionWorkspaces<TypeParam>(DeviceContext::Current(), conv, {pass})) {
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

#ifdef CPU_ONLY  // elsewhere its library would be asked
TYPED_TEST(ConvolutionEngines, OnAGpuAreNotThoseOfTheHost) {
  DeviceContext context;
  context.launch = true;  // without a library for it
  for (const Convolution& conv :
       {Make(2, 16, 16, 1, 3, 1, 1, 1), Make(2, 16, 16, 16, 3, 1, 1, 1)}) {
    for (const Workspace& choice : ConvolutionWorkspaces<TypeParam>(context, conv, {kPasses[0]}))
      EXPECT_EQ(choice.name.find("onednn"), std::string::npos);
  }
}
#endif

TYPED_TEST(ConvolutionEngines, BeginNewSumsWithZeroWhereThereAreNoImages) {
  Convolution conv = Make(2, 4, 6, 2, 3, 1, 1, 1);
  conv.images = 0;
  this->SetUpOperands(conv);
  for (const TypeParam value :
       this->Run(conv, ConvolutionPass::kBackwardWeights, Workspace(), false))
    EXPECT_EQ(value, 0);
}

TYPED_TEST(ConvolutionEngines, OfDepthwiseConvolutionsNeedNoWorkspace) {
  const std::vector<ConvolutionPass> passes{kPasses[2], kPasses[1]};
  for (const Workspace& choice :
       ConvolutionWorkspaces<TypeParam>(DeviceContext(), Make(2, 6, 12, 6, 3, 1, 1, 1), passes)) {
    EXPECT_EQ(choice.name, "depthwise+depthwise");
    EXPECT_EQ(choice.bytes, 0);
    EXPECT_TRUE(choice.deterministic);
  }
}

TYPED_TEST(ConvolutionEngines, AreGrantedOneReproducibleAlgorithmUntilTheyAreMeasured) {
  if (!DeviceContext::Current().launch) GTEST_SKIP() << "Nothing is measured on a CPU.";
  library_settings().measure = false;
  Convolution conv = Make(2, 5, 7, 1, 3, 1, 1, 1);  // of no other test
  const std::vector<ConvolutionPass> passes{kPasses[2], kPasses[1]};
  const auto choices = [&] {
    return ConvolutionWorkspaces<TypeParam>(DeviceContext::Current(), conv, passes);
  };
  const std::vector<Workspace> granted = choices();
  ASSERT_EQ(granted.size(), 1u);
  if (granted[0].name.empty()) GTEST_SKIP() << "This device has no library of convolutions.";
  EXPECT_NE(granted[0].name.find('+'), std::string::npos);
  EXPECT_TRUE(granted[0].deterministic);
  EXPECT_EQ(granted[0].seconds, 0);
  library_settings().measure = true;
  const std::vector<Workspace> measured = choices();
  ASSERT_FALSE(measured.empty());
  for (const Workspace& choice : measured) EXPECT_GT(choice.seconds, 0) << choice.name;
  library_settings().measure = false;
  EXPECT_EQ(choices().size(), measured.size());
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
