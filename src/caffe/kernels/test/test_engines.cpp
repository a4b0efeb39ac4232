// Tests the choice between our kernel and the library's by measured times. On a GPU with cuDNN,
// also tests that both compute the same.
#include "caffe/kernels/engines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "caffe/kernels/activation/softmax.hpp"
#include "caffe/kernels/library_kernels.hpp"
#include "caffe/util/algorithm_table.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace kernels {
namespace {

using Strings = std::vector<std::string>;

class EngineChoice : public ::testing::Test {
 protected:
  EngineChoice() { MakeTempDir(&folder_); }
  ~EngineChoice() override { std::filesystem::remove_all(folder_); }

  /// Returns the names of the choices for `engines`. Measurements return the seconds in `engines`.
  Strings Choose(const std::vector<Algorithm>& engines, bool measure) {
    std::vector<Algorithm> untimed = engines;
    for (Algorithm& engine : untimed) engine.seconds = 0;
    const auto seconds = [&](const Algorithm& engine) {
      ++measurements_;
      return std::find_if(engines.begin(), engines.end(),
                          [&](const Algorithm& e) { return e.name == engine.name; })
          ->seconds;
    };
    AlgorithmCache cache(folder_ + "/times.json");  // read again, as by another run of the program
    choices_ = ChooseEngines("thing 3x4", untimed, &cache, measure, seconds);
    Strings names;
    for (const Algorithm& choice : choices_) names.push_back(choice.name);
    return names;
  }

  /// The choice for a layer without a plan, and for a plan that must be deterministic.
  std::string Granted() const {
    OperandVariant variant;
    variant.algorithms = choices_;
    return DirectAlgorithm(variant).name;
  }

  std::string folder_;
  int measurements_ = 0;
  std::vector<Algorithm> choices_;
};

TEST_F(EngineChoice, IsOursUntilMeasuredThenTheFasterOne) {
  const std::vector<Algorithm> engines = {{kOwn, 100, 2e-3, true}, {kCudnn, 0, 1e-3, true}};
  EXPECT_EQ(Choose(engines, false), Strings{});
  EXPECT_EQ(measurements_, 0);
  EXPECT_EQ(Choose(engines, true), Strings{kCudnn});
  EXPECT_EQ(measurements_, 2);
  EXPECT_EQ(Choose(engines, true), Strings{kCudnn});
  EXPECT_EQ(Choose(engines, false), Strings{kCudnn});
  EXPECT_EQ(measurements_, 2);
  EXPECT_EQ(choices_[0].seconds, 1e-3);
  EXPECT_EQ(Granted(), kCudnn);
}

TEST_F(EngineChoice, IsEmptyIfOursIsFaster) {
  const std::vector<Algorithm> engines = {{kOwn, 0, 1e-3, true}, {kCudnn, 50, 2e-3, true}};
  EXPECT_EQ(Choose(engines, true), Strings{});
  EXPECT_EQ(Choose(engines, false), Strings{});
  EXPECT_EQ(Granted(), "");
}

TEST_F(EngineChoice, IsEmptyIfTheLibraryRefuses) {
  const std::vector<Algorithm> engines = {{kOwn, 0, 1e-3, true}, {kCudnn, 50, 0, true}};
  EXPECT_EQ(Choose(engines, true), Strings{});
  EXPECT_EQ(Choose(engines, true), Strings{});
  EXPECT_EQ(measurements_, 2) << "a refusal is known, too";
}

TEST_F(EngineChoice, IsLeftToThePlanIfTheFasterNeedsMoreWorkspace) {
  EXPECT_EQ(Choose({{kOwn, 100, 2e-3, true}, {kCudnn, 400, 1e-3, true}}, true),
            (Strings{kOwn, kCudnn}));
  EXPECT_EQ(choices_[0].bytes, 100);
  EXPECT_EQ(choices_[1].bytes, 400);
  EXPECT_EQ(Granted(), kCudnn);
}

TEST_F(EngineChoice, GrantsReproducibleEnginesOnly) {
  EXPECT_EQ(Choose({{kOwn, 0, 2e-3, true}, {kCudnn, 0, 1e-3, false}}, true),
            (Strings{kOwn, kCudnn}));
  EXPECT_EQ(Granted(), kOwn);
}

TEST(EngineTimes, AreMeasuredAfterAWarmUpCall) {
  int calls = 0;
  EXPECT_GT(SecondsOf([&] { return ++calls > 0; }), 0);
  EXPECT_GT(calls, 3);
  calls = 0;
  EXPECT_EQ(SecondsOf([&] { return ++calls < 0; }), 0);
  EXPECT_EQ(calls, 1);
}

PoolingWindow Square(int planes, int size, int kernel, int stride, int pad, bool round_up) {
  const int room = size + 2 * pad - kernel;
  int pooled = (round_up ? (room + stride - 1) / stride : room / stride) + 1;
  if (pad > 0 && (pooled - 1) * stride >= size + pad) --pooled;
  PoolingWindow window;
  window.planes = planes;
  window.height = window.width = size;
  window.pooled_height = window.pooled_width = pooled;
  window.kernel_h = window.kernel_w = kernel;
  window.stride_h = window.stride_w = stride;
  window.pad_h = window.pad_w = pad;
  return window;
}

/// Whether Caffe's average pooling divides by the whole window, as cuDNN does. Pools a plane of
/// ones: dividing by the whole window gives the share of the window that is in the plane.
bool DividesByWholeWindows(const PoolingWindow& p) {
  const std::vector<double> ones(p.height * p.width, 1);
  std::vector<double> y(p.pooled_height * p.pooled_width);
  AveragePoolForward(DeviceContext(), p, ones.data(), y.data());
  const auto covered = [&](int i) {
    const int begin = i * p.stride_h - p.pad_h;
    return std::min(begin + p.kernel_h, p.height) - std::max(begin, 0);
  };
  bool all = true;
  for (int i = 0; i < p.pooled_height; ++i) {
    for (int j = 0; j < p.pooled_width; ++j) {
      const double whole = static_cast<double>(covered(i) * covered(j)) / p.KernelSize();
      all = all && std::abs(y[i * p.pooled_width + j] - whole) < 1e-12;
    }
  }
  return all;
}

TEST(AveragePoolWindows, AreWholeIfCaffeDividesByTheirSize) {
  int whole = 0, cut = 0;
  for (int size = 1; size <= 9; ++size) {
    for (int kernel = 1; kernel <= 4; ++kernel) {
      for (int stride = 1; stride <= 3; ++stride) {
        for (int pad = 0; pad < kernel; ++pad) {
          if (size + 2 * pad < kernel) continue;
          for (const bool round_up : {false, true}) {
            const PoolingWindow window = Square(1, size, kernel, stride, pad, round_up);
            // A last window entirely outside averages nothing either way.
            if ((window.pooled_width - 1) * stride - pad >= size) continue;
            EXPECT_EQ(WholeWindows(window), DividesByWholeWindows(window))
                << size << ", kernel " << kernel << ", stride " << stride << ", pad " << pad;
            ++(WholeWindows(window) ? whole : cut);
          }
        }
      }
    }
  }
  EXPECT_GT(whole, 100);
  EXPECT_GT(cut, 20);
}

/// Runs both kernels on the test's device, if it has a library.
template <typename Dtype>
class Rivalry : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!LibraryTimes(context_)) GTEST_SKIP() << "There is no cuDNN and GPU here for it.";
  }
  static Blob<Dtype>* Fill(int64_t count, int seed, Blob<Dtype>* blob) {
    blob->Reshape({static_cast<int>(count)});
    Dtype* const values = blob->mutable_cpu_data();
    for (int i = 0; i < count; ++i) values[i] = Dtype((i * 7 + seed * 13) % 29 - 14) / 14;
    return blob;
  }

  /// Returns the result of `run` with an engine. `run` gets the engine with a workspace, two
  /// operands, and the output, which aliases operand `on` (0 or 1) or none (-1).
  using Body = std::function<void(const AlgorithmRun&, const Dtype*, const Dtype*, Dtype*)>;
  std::vector<Dtype> Run(const char* engine, int64_t workspace_values, int64_t a_count,
                         int64_t b_count, int64_t out_count, int on, const Body& run) {
    Blob<Dtype> operands[2], apart;
    Fill(a_count, 1, &operands[0]);
    Fill(b_count, 2, &operands[1]);
    std::fill_n(Fill(out_count, 0, &apart)->mutable_cpu_data(), out_count, Dtype(NAN));
    Blob<Dtype>& out = on < 0 ? apart : operands[on];
    SyncedMemory memory(std::max<int64_t>(workspace_values, 1) * sizeof(Dtype));
    Dtype* const result = out.mutable_gpu_data();
    run({memory.mutable_gpu_data(), engine}, operands[0].gpu_data(), operands[1].gpu_data(),
        result);
    return {out.cpu_data(), out.cpu_data() + out_count};
  }

  /// Expects the library's result to equal ours for each `on` in `places`, and to have the same
  /// bits when repeated.
  void ExpectEqual(int64_t workspace_values, int64_t a, int64_t b, int64_t out,
                   const std::vector<int>& places, const Body& run) {
    const std::vector<Dtype> expected = Run(kOwn, workspace_values, a, b, out, -1, run);
    const double tolerance = sizeof(Dtype) == 4 ? 1e-4 : 1e-9;
    double scale = 1e-3;
    for (const Dtype value : expected) scale = std::max(scale, std::abs(double(value)));
    for (const int on : places) {
      const std::vector<Dtype> found = Run(kCudnn, workspace_values, a, b, out, on, run);
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], tolerance * scale) << "result on operand " << on;
      EXPECT_EQ(Run(kCudnn, workspace_values, a, b, out, on, run), found);
    }
  }

  const DeviceContext context_ = DeviceContext::Current();
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Rivalry, Types);

TYPED_TEST(Rivalry, OfAveragePoolings) {
  using Dtype = TypeParam;
  for (const PoolingWindow& window :
       {Square(6, 7, 7, 1, 0, true), Square(6, 9, 3, 2, 1, true), Square(6, 8, 3, 2, 0, false)}) {
    const int64_t plane = window.planes * window.height * window.width;
    const int64_t pooled = window.planes * window.pooled_height * window.pooled_width;
    this->ExpectEqual(0, plane, 1, pooled, {-1},
                      [&](const AlgorithmRun& chosen, const Dtype* x, const Dtype*, Dtype* y) {
                        AveragePoolForward(this->context_, window, x, y, chosen);
                      });
    this->ExpectEqual(0, pooled, 1, plane, {-1},
                      [&](const AlgorithmRun& chosen, const Dtype* dy, const Dtype*, Dtype* dx) {
                        AveragePoolBackward(this->context_, window, dy, dx, chosen);
                      });
  }
}

TYPED_TEST(Rivalry, OfNormalizationsAcrossChannels) {
  using Dtype = TypeParam;
  for (const int pad : {0, 1, 2, 6}) {
    LrnGrid grid;
    grid.outer = 3;
    grid.length = 7;
    grid.width = 20;
    grid.length_pad = pad;
    const LrnFunction<Dtype> function{Dtype(0.1), Dtype(0.75), Dtype(1.5)};
    const int64_t n = grid.count(), room = std::max(2 * n, LrnBackwardWorkspace(grid));
    this->ExpectEqual(room, n, 1, n, {-1, 0},
                      [&](const AlgorithmRun& chosen, const Dtype* x, const Dtype*, Dtype* y) {
                        LrnForward<Dtype>(this->context_, grid, function, x, y, nullptr, chosen);
                      });
    this->ExpectEqual(room, n, n, n, {-1, 0, 1},
                      [&](const AlgorithmRun& chosen, const Dtype* x, const Dtype* dy, Dtype* dx) {
                        LrnBackward(this->context_, grid, function, x, dy, dx, chosen);
                      });
  }
}

TYPED_TEST(Rivalry, OfSoftmaxes) {
  using Dtype = TypeParam;
  for (const ScoreShape& shape : {ScoreShape{5, 100, 1}, ScoreShape{2, 3, 40}}) {
    const int64_t n = shape.count();
    this->ExpectEqual(n, n, 1, n, {-1, 0},
                      [&](const AlgorithmRun& chosen, const Dtype* x, const Dtype*, Dtype* y) {
                        SoftmaxForward(this->context_, shape, x, y, chosen);
                      });
    this->ExpectEqual(n, n, n, n, {-1, 0, 1},
                      [&](const AlgorithmRun& chosen, const Dtype* y, const Dtype* dy, Dtype* dx) {
                        SoftmaxBackward(this->context_, shape, y, dy, dx, chosen);
                      });
  }
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
