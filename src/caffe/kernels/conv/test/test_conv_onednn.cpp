// Which convolutions oneDNN runs, and that its results depend only on the operands.
// test_conv_engines checks that they are correct.
#include "caffe/kernels/conv/conv_onednn.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "caffe/util/channel_shape.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/mkl_alternate.hpp"
#include "caffe/util/threads.hpp"
#include "layrub/base/beside_library.hpp"

namespace caffe {
namespace kernels {
namespace {

using Pass = ConvolutionPass;
constexpr Pass kPasses[] = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights};

Convolution Make(int images, int channels, int size, int num_output, int kernel, int group = 1) {
  Convolution conv;
  conv.images = images;
  conv.channels = channels;
  conv.num_output = num_output;
  conv.group = group;
  conv.window.axes = 2;
  conv.window.channels = channels / group;
  for (int i = 0; i < 2; ++i) {
    conv.window.image[i] = conv.window.output[i] = size;
    conv.window.kernel[i] = kernel;
    conv.window.pad[i] = kernel / 2;
    conv.window.stride[i] = conv.window.dilation[i] = 1;
  }
  return conv;
}

/// Converts an array of values to channels in blocks or, if `back`, from blocks to an array.
std::vector<float> Laid(const std::vector<float>& values, int images, int channels, int block,
                        bool back = false) {
  if (block == 1) return values;
  std::vector<float> laid(values.size());
  const auto inner = static_cast<int64_t>(values.size()) / images / channels;
  const ChannelShape shape{images, channels, inner, block};
  (back ? ArrayFromBlocks<float> : BlocksFromArray<float>)(shape, values.data(), laid.data());
  return laid;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class OneDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!OneDnnBytes(Make(2, 16, 8, 16, 3), Pass::kForward))
      GTEST_SKIP() << "oneDNN is not there, or has nothing for this processor.";
  }

  static std::vector<float> Values(int64_t count, int seed) {
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>((i * 7 + seed * 13) % 29 - 14) / 14;
    return values;
  }

  /// Returns the result of `pass`, run in a workspace filled with `rubbish`; with `add`, it is
  /// added to 0.25. x and y are in blocks if `conv` says so.
  static std::vector<float> Run(const Convolution& conv, Pass pass, float rubbish, bool add) {
    const int64_t x = conv.images * conv.channels * conv.window.ImageSize();
    const int64_t y = conv.images * conv.num_output * conv.window.OutputSize();
    const int64_t w = conv.num_output * conv.window.channels * conv.window.KernelSize();
    const std::vector<float> first = pass == Pass::kBackwardData ? Values(y, 2) : Values(x, 1);
    const std::vector<float> second = pass == Pass::kBackwardWeights ? Values(y, 2) : Values(w, 3);
    std::vector<float> out(pass == Pass::kForward        ? y
                           : pass == Pass::kBackwardData ? x
                                                         : w,
                           add ? 0.25f : NAN);
    const int64_t bytes = OneDnnBytes(conv, pass).value();
    SyncedMemory memory(std::max<size_t>(bytes, 1));
    float* const workspace = static_cast<float*>(memory.mutable_cpu_data());
    std::fill_n(workspace, bytes / sizeof(float), rubbish);
    const auto x_laid = [&](const std::vector<float>& values, bool back = false) {
      return Laid(values, conv.images, conv.channels, conv.x_block, back);
    };
    const auto y_laid = [&](const std::vector<float>& values, bool back = false) {
      return Laid(values, conv.images, conv.num_output, conv.y_block, back);
    };
    const auto a = pass == Pass::kBackwardData ? y_laid(first) : x_laid(first);
    const auto b = pass == Pass::kBackwardWeights ? y_laid(second) : second;
    OneDnnRun(conv, pass, workspace, a.data(), b.data(), {out.data(), add});
    return pass == Pass::kForward        ? y_laid(out, true)
           : pass == Pass::kBackwardData ? x_laid(out, true)
                                         : out;
  }
  static std::vector<float> Run(const Convolution& conv, Pass pass, float rubbish) {
    return Run(conv, pass, rubbish, pass == Pass::kBackwardWeights);
  }
};

TEST(OneDnnLibrary, IsUsedIfItIsNextToLibcaffe) {
  const std::string file = layrub::PathBesideLibrary("libcaffe_onednn.so");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "This build has no oneDNN (USE_ONEDNN).";
#if defined(__x86_64__)
  EXPECT_EQ(OneDnnBytes(Make(2, 16, 8, 16, 3), Pass::kForward).has_value(),
            __builtin_cpu_supports("avx2") != 0);
#else
  GTEST_SKIP() << "What oneDNN has for this processor is not known.";
#endif
}

TEST_F(OneDnn, IsNotUsedWhereItIsNoFaster) {
  for (const Pass pass : kPasses) {
    Convolution one_value = Make(2, 16, 9, 16, 1);
    EXPECT_FALSE(OneDnnBytes(one_value, pass)) << "pointwise";
    EXPECT_FALSE(OneDnnBytes(Make(2, 16, 7, 16, 1), pass)) << "pointwise, of few values";
    for (int i = 0; i < 2; ++i) one_value.window.stride[i] = 2, one_value.window.output[i] = 5;
    EXPECT_FALSE(OneDnnBytes(one_value, pass)) << "pointwise, at every second position";
    EXPECT_FALSE(OneDnnBytes(Make(2, 64, 8, 4, 3), pass) && pass != Pass::kBackwardData);
    EXPECT_TRUE(OneDnnBytes(Make(2, 64, 8, 64, 3), pass));
    EXPECT_EQ(OneDnnBytes(Make(2, 16, 8, 16, 3), pass).has_value(), pass != Pass::kBackwardWeights)
        << "few weights";
    EXPECT_TRUE(OneDnnBytes(Make(2, 16, 8, 16, 3, 16), pass)) << "depthwise";
  }
  EXPECT_TRUE(OneDnnBytes(Make(2, 3, 8, 16, 3), Pass::kForward));
  EXPECT_FALSE(OneDnnBytes(Make(2, 3, 8, 16, 3), Pass::kBackwardData));
}

TEST_F(OneDnn, IsNotUsedIfTheNetAsksForOwnKernels) {
  Convolution conv = Make(2, 64, 8, 64, 3);
  conv.own_kernels = true;
  for (const Pass pass : kPasses) EXPECT_FALSE(OneDnnBytes(conv, pass));
}

TEST_F(OneDnn, NeedsWorkspaceForOnePieceOfTheImagesOnly) {
  for (const Pass pass : kPasses) {
    const int64_t few = OneDnnBytes(Make(8, 64, 56, 64, 3), pass).value();
    const int64_t many = OneDnnBytes(Make(64, 64, 56, 64, 3), pass).value();
    EXPECT_LE(many, few + (int64_t{1} << 20)) << static_cast<int>(pass);
  }
}

#ifndef USE_MKL
/// Lets BLAS use as many threads as there are cores while this object exists; the test suites run
/// with one.
class ManyThreads {
 public:
  ManyThreads() { openblas_set_num_threads(CpuThreads()); }
  ~ManyThreads() { openblas_set_num_threads(before_); }
  ManyThreads(const ManyThreads&) = delete;
  ManyThreads& operator=(const ManyThreads&) = delete;

 private:
  const int before_ = openblas_get_num_threads();
};

TEST_F(OneDnn, NeedsTheSameWorkspaceForAnyNumberOfThreads) {
  for (const Convolution& conv : {Make(8, 64, 28, 64, 3), Make(6, 20, 12, 70, 5)}) {
    for (const Pass pass : kPasses) {
      openblas_set_num_threads(1);
      const std::optional<int64_t> bytes = OneDnnBytes(conv, pass);
      const std::vector<float> alone = Run(conv, pass, NAN);
      const ManyThreads scope;
      EXPECT_EQ(OneDnnBytes(conv, pass), bytes);
      const std::vector<float> together = Run(conv, pass, NAN);
      for (size_t i = 0; i < alone.size(); ++i)
        ASSERT_NEAR(together[i], alone[i], 1e-3 * (1 + std::abs(alone[i])));
    }
  }
}

/// Returns a function of the OpenMP library (GCC's) that libcaffe_onednn has loaded.
template <typename Function>
Function* OfOpenMp(const char* name) {
  void* const library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

TEST_F(OneDnn, RestoresTheNumberOfOpenMpThreads) {
  auto* const set = OfOpenMp<void(int)>("omp_set_num_threads");
  auto* const get = OfOpenMp<int()>("omp_get_max_threads");
  if (!set || !get) GTEST_SKIP() << "Another OpenMP than GCC's is in use.";
  const ManyThreads scope;
  const int before = get();
  set(3);
  Run(Make(4, 24, 40, 24, 3), Pass::kForward, 0);
  EXPECT_EQ(get(), 3);
  set(before);
}

/// A forked process has only the thread that called fork.
TEST_F(OneDnn, RunsInAForkedProcess) {
  const ManyThreads scope;
  const Convolution conv = Make(4, 64, 40, 60, 3);
  for (const Pass pass : kPasses) {
    const std::vector<float> here = Run(conv, pass, 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      const std::vector<float> there = Run(conv, pass, 0);
      bool near = true;
      for (size_t i = 0; i < here.size(); ++i)
        near = near && std::abs(there[i] - here[i]) < 1e-3 * (1 + std::abs(here[i]));
      _exit(near ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "pass " << static_cast<int>(pass);
  }
}
#endif

TEST_F(OneDnn, GivesTheSameBitsForChannelsInBlocks) {
  if (OneDnnPreferredBlock(Make(6, 64, 28, 64, 3), Pass::kForward) == 0)
    GTEST_SKIP() << "oneDNN wants no blocks of channels on this processor.";
  int tried = 0;
  Convolution strided = Make(3, 64, 19, 64, 3);
  for (int i = 0; i < 2; ++i) strided.window.stride[i] = 2, strided.window.output[i] = 10;
  for (const Convolution& array :
       {Make(6, 64, 28, 64, 3), Make(4, 32, 20, 48, 5), Make(2, 3, 16, 64, 3), strided,
        Make(4, 64, 14, 128, 3, 2), Make(2, 48, 11, 48, 3, 48), Make(2, 20, 9, 64, 5)}) {
    for (const Pass pass : kPasses) {
      const int liked = OneDnnPreferredBlock(array, pass);
      if (liked == 0) continue;
      const std::vector<float> expected = Run(array, pass, NAN, false);
      const int64_t bytes = OneDnnBytes(array, pass).value();
      for (const int choice : {1, 2, 3}) {
        Convolution conv = array;
        if (choice != 2 && conv.channels % 16 == 0) conv.x_block = liked;
        if (choice != 1 && conv.num_output % 16 == 0) conv.y_block = liked;
        if (conv.x_block == 1 && conv.y_block == 1) continue;
        EXPECT_EQ(OneDnnPreferredBlock(conv, pass), liked);
        EXPECT_LE(OneDnnBytes(conv, pass).value(), bytes);
        EXPECT_TRUE(SameBits(Run(conv, pass, NAN, false), expected))
            << conv.channels << " to " << conv.num_output << ", pass " << static_cast<int>(pass)
            << ", choice " << choice;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 8);
}

/// The images are enough for several pieces.
TEST_F(OneDnn, GivesTheSameBitsForEachImageAlone) {
  const Convolution one = Make(1, 24, 96, 20, 3), all = Make(6, 24, 96, 20, 3);
  const int64_t image = one.channels * one.window.ImageSize();
  ASSERT_GT(6 * (image + 20 * one.window.OutputSize()) * int64_t{sizeof(float)}, int64_t{8} << 20);
  const std::vector<float> x = Values(6 * image, 1);
  const std::vector<float> w = Values(20 * 24 * 9, 3);
  const std::vector<float> y = Run(all, Pass::kForward, 0);
  std::vector<char> workspace(OneDnnBytes(one, Pass::kForward).value() + 64);
  void* aligned = workspace.data();
  size_t room = workspace.size();
  ASSERT_NE(std::align(64, room - 64, aligned, room), nullptr);
  const size_t outputs = 20 * one.window.OutputSize();
  for (int i = 0; i < 6; ++i) {
    std::vector<float> alone(outputs);
    OneDnnRun(one, Pass::kForward, aligned, x.data() + i * image, w.data(), {alone.data(), false});
    for (size_t k = 0; k < outputs; ++k)
      ASSERT_NEAR(alone[k], y[i * outputs + k], 1e-4) << "image " << i << ", value " << k;
  }
}

TEST_F(OneDnn, OverwritesGradientsUnlessTheyAccumulate) {
  for (const Convolution& conv : {Make(2, 64, 8, 64, 3), Make(6, 64, 96, 60, 3)}) {
    const std::vector<float> added = Run(conv, Pass::kBackwardWeights, 0, true);
    const std::vector<float> made = Run(conv, Pass::kBackwardWeights, 0, false);
    for (size_t i = 0; i < made.size(); ++i)
      ASSERT_NEAR(made[i] + 0.25, added[i], 1e-3 + 1e-5 * std::abs(added[i])) << i;
  }
}

TEST_F(OneDnn, GivesTheSameBitsWhateverTheWorkspaceContained) {
  for (const Convolution& conv :
       {Make(6, 24, 96, 20, 3), Make(4, 3, 33, 18, 5), Make(4, 60, 20, 70, 3),
        Make(4, 32, 20, 32, 3, 32), Make(3, 24, 9, 40, 3, 2)}) {
    for (const Pass pass : kPasses) {
      if (!OneDnnBytes(conv, pass)) continue;
      const std::vector<float> clean = Run(conv, pass, 0);
      EXPECT_EQ(Run(conv, pass, NAN), clean) << static_cast<int>(pass);
      EXPECT_TRUE(
          std::all_of(clean.begin(), clean.end(), [](float v) { return std::isfinite(v); }));
    }
  }
}

TEST_F(OneDnn, GivesTheSameBitsInEveryThread) {
  const Convolution conv = Make(4, 64, 40, 60, 3);
  for (const Pass pass : kPasses) {
    const std::vector<float> here = Run(conv, pass, 0);
    std::vector<float> there[2];
    std::thread first([&] { there[0] = Run(conv, pass, 1); });
    std::thread second([&] { there[1] = Run(conv, pass, 2); });
    first.join();
    second.join();
    EXPECT_EQ(there[0], here);
    EXPECT_EQ(there[1], here);
  }
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
