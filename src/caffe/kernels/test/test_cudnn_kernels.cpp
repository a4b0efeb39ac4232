// Compares our kernels with equivalent kernels of cuDNN, at the sizes of AlexNet, GoogLeNet and
// ResNet-50: the results must agree, and both are timed. LAYRUB_KERNEL_TIMES names a file for the
// times, with one JSON object per line. Where the two are interchangeable, training chooses by such
// times (engines.hpp); elsewhere cuDNN's times are a target for ours.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe/kernels/activation/softmax.hpp"
#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/library_kernels.hpp"
#include "caffe/kernels/norm/batch_norm.hpp"
#include "caffe/kernels/norm/lrn.hpp"
#include "caffe/kernels/pooling/pooling.hpp"
#include "caffe/util/benchmark.hpp"
#ifdef USE_CUDNN
#include "caffe/kernels/cuda/cudnn_descriptors.hpp"
#endif

namespace caffe {
namespace kernels {
namespace {

#ifdef USE_CUDNN

using layrub::Cudnn;
using layrub::FindCudnn;

class Tensor : public CudnnTensor {
 public:
  explicit Tensor(const Blob<float>& like) {
    LAYRUB_CUDNN(SetTensor4dDescriptor, *this, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, like.num(),
                 like.channels(), like.height(), like.width());
  }
};

using Library = CudnnOwned<cudnnHandle_t, &Cudnn::Create, &Cudnn::Destroy>;

/// The cuDNN functions that only this test calls.
struct BatchNormOfCudnn {
#define LAYRUB_BATCH_NORM(X)                   \
  X(cudnn, BatchNormalizationForwardTraining); \
  X(cudnn, BatchNormalizationBackward)
  LAYRUB_LIBRARY_FUNCTIONS(LAYRUB_BATCH_NORM)
#undef LAYRUB_BATCH_NORM
};
std::string VersionOf(const BatchNormOfCudnn&) { return ""; }

constexpr float kOne = 1, kZero = 0;
constexpr int kRuns = 7, kLaunches = 10;

class CudnnKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!context_.launch) GTEST_SKIP() << "There is no GPU here for cuDNN to work on.";
    if (!FindCudnn()) GTEST_SKIP() << "There is no cuDNN here, as the log says.";
    library_ = std::make_unique<Library>();
  }

  /// Sets the shapes of all blobs and fills x and dy.
  void SetShapes(const vector<int>& bottom, const vector<int>& top) {
    for (Blob<float>* blob : {&x_, &dx_, &their_dx_}) blob->Reshape(bottom);
    for (Blob<float>* blob : {&y_, &dy_, &their_y_}) blob->Reshape(top);
    Fill(1, &x_);
    Fill(2, &dy_);
  }
  /// Fills the blob so that any 2^24 consecutive values differ. If two maxima were equal, either
  /// might get the gradient.
  static void Fill(uint32_t seed, Blob<float>* blob) {
    float* const values = blob->mutable_cpu_data();
    for (int i = 0; i < blob->count(); ++i) {
      const uint32_t scattered = (static_cast<uint32_t>(i) * 10368889u + seed * 1013904223u);
      values[i] = static_cast<float>(scattered & 0xFFFFFF) / (1 << 23) - 1;
    }
  }

  /// Milliseconds of one call, the median of several measurements.
  static double Milliseconds(const std::function<void()>& call) {
    call();
    std::vector<double> times;
    for (int run = 0; run < kRuns; ++run) {
      Timer timer;
      timer.Start();
      for (int i = 0; i < kLaunches; ++i) call();
      times.push_back(timer.MicroSeconds() / 1e3 / kLaunches);
    }
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
  }

  /// Runs both, compares their results and records the times. `theirs` may return false: cuDNN
  /// refuses the sizes.
  void Compare(const std::string& name, const std::function<void()>& ours,
               const std::function<bool()>& theirs, const Blob<float>& our_result,
               const Blob<float>& their_result) {
    SCOPED_TRACE(name);
    const double our_time = Milliseconds(ours);
    const bool taken = theirs();
    double their_time = 0;
    if (taken) {
      their_time = Milliseconds([&] { CHECK(theirs()); });
      ExpectNear(our_result, their_result);
    }
    if (const char* const file = std::getenv("LAYRUB_KERNEL_TIMES")) {
      std::ofstream(file, std::ios::app)
          << "{\"name\": \"" << name << "\", \"ours_ms\": " << our_time
          << ", \"cudnn_ms\": " << their_time << "}\n";
    }
    LOG(INFO) << name << ": ours " << our_time << " ms, cuDNN "
              << (taken ? std::to_string(their_time) + " ms" : "does not take these sizes");
  }
  static void ExpectNear(const Blob<float>& found, const Blob<float>& expected) {
    double scale = 1e-3, worst = 0;
    for (int i = 0; i < expected.count(); ++i) {
      const double a = found.cpu_data()[i], b = expected.cpu_data()[i];
      scale = std::max(scale, std::abs(b));
      worst = std::max(worst, std::abs(a - b));
    }
    EXPECT_LE(worst, 1e-4 * scale);
  }

  const DeviceContext context_ = DeviceContext::Current();
  std::unique_ptr<Library> library_;
  Blob<float> x_, y_, dy_, dx_, their_y_, their_dx_;
};

struct PoolingCase {
  const char* name;
  vector<int> bottom;
  int kernel, stride, pad;
  bool max;
};

TEST_F(CudnnKernels, Pooling) {
  const std::vector<PoolingCase> cases = {
      {"AlexNet pool1", {128, 96, 55, 55}, 3, 2, 0, true},
      {"AlexNet pool5", {128, 256, 13, 13}, 3, 2, 0, true},
      {"GoogLeNet pool1", {128, 64, 112, 112}, 3, 2, 0, true},
      {"GoogLeNet inception_3a/pool", {128, 192, 28, 28}, 3, 1, 1, true},
      {"GoogLeNet pool5", {128, 1024, 7, 7}, 7, 1, 0, false},
      {"ResNet-50 pool1", {32, 64, 112, 112}, 3, 2, 0, true},
      {"ResNet-50 pool5", {32, 2048, 7, 7}, 7, 1, 0, false},
  };
  for (const PoolingCase& c : cases) {
    PoolingWindow window;
    window.planes = int64_t{c.bottom[0]} * c.bottom[1];
    window.height = window.width = c.bottom[2];
    window.kernel_h = window.kernel_w = c.kernel;
    window.stride_h = window.stride_w = c.stride;
    window.pad_h = window.pad_w = c.pad;
    const int pooled = (c.bottom[2] + 2 * c.pad - c.kernel + c.stride - 1) / c.stride + 1;
    window.pooled_height = window.pooled_width = pooled;
    SetShapes(c.bottom, {c.bottom[0], c.bottom[1], pooled, pooled});
    SyncedMemory index(size_t(y_.count()) * PoolingIndexBytes(window));
    const float* const x = x_.gpu_data();
    const float* const dy = dy_.gpu_data();
    const Tensor bottom(x_), top(y_);
    const CudnnPooling pool;
    LAYRUB_CUDNN(SetPooling2dDescriptor, pool,
                 c.max ? CUDNN_POOLING_MAX : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
                 CUDNN_NOT_PROPAGATE_NAN, c.kernel, c.kernel, c.pad, c.pad, c.stride, c.stride);
    Compare(
        std::string(c.name) + " forward",
        [&] {
          float* const y = y_.mutable_gpu_data();
          if (c.max) {
            MaxPoolForward<float>(context_, window, x, y, index.mutable_gpu_data(), nullptr);
          } else {
            AveragePoolForward(context_, window, x, y);
          }
        },
        [&] {
          return FindCudnn()->PoolingForward(*library_, pool, &kOne, bottom, x, &kZero, top,
                                             their_y_.mutable_gpu_data()) == CUDNN_STATUS_SUCCESS;
        },
        y_, their_y_);
    Compare(
        std::string(c.name) + " backward",
        [&] {
          float* const dx = dx_.mutable_gpu_data();
          if (c.max) {
            MaxPoolBackward(context_, window, dy, index.gpu_data(), dx);
          } else {
            AveragePoolBackward(context_, window, dy, dx);
          }
        },
        [&] {
          return FindCudnn()->PoolingBackward(*library_, pool, &kOne, top, y_.gpu_data(), top, dy,
                                              bottom, x, &kZero, bottom,
                                              their_dx_.mutable_gpu_data()) == CUDNN_STATUS_SUCCESS;
        },
        dx_, their_dx_);
  }
}

TEST_F(CudnnKernels, Lrn) {
  const std::vector<std::pair<const char*, vector<int>>> cases = {
      {"AlexNet norm1", {128, 96, 55, 55}},
      {"AlexNet norm2", {128, 256, 27, 27}},
      {"GoogLeNet pool1/norm1", {128, 64, 56, 56}},
      {"GoogLeNet conv2/norm2", {128, 192, 56, 56}}};
  for (const auto& [name, shape] : cases) {
    SetShapes(shape, shape);
    const int size = 5;
    LrnGrid grid;
    grid.outer = shape[0];
    grid.length = shape[1];
    grid.width = shape[2] * shape[3];
    grid.length_pad = size / 2;
    const float alpha = 1e-4f;
    const LrnFunction<float> function{alpha / size, 0.75f, 1};
    SyncedMemory workspace(sizeof(float) *
                           std::max(LrnForwardWorkspace(grid), LrnBackwardWorkspace(grid)));
    const float* const x = x_.gpu_data();
    const float* const dy = dy_.gpu_data();
    const AlgorithmRun room{workspace.mutable_gpu_data()};
    Compare(
        std::string(name) + " forward",
        [&] {
          LrnForward<float>(context_, grid, function, x, y_.mutable_gpu_data(), nullptr, room);
        },
        [&] { return LibraryLrnForward(grid, function, x, their_y_.mutable_gpu_data()); }, y_,
        their_y_);
    Compare(
        std::string(name) + " backward",
        [&] { LrnBackward(context_, grid, function, x, dy, dx_.mutable_gpu_data(), room); },
        [&] {
          return LibraryLrnBackward(grid, function, x, y_.gpu_data(), dy,
                                    their_dx_.mutable_gpu_data());
        },
        dx_, their_dx_);
  }
}

TEST_F(CudnnKernels, Softmax) {
  for (const vector<int>& shape : {vector<int>{128, 1000, 1, 1}, vector<int>{4, 21, 128, 128}}) {
    SetShapes(shape, shape);
    const ScoreShape scores = ScoresAlong(x_, 1);
    const float* const x = x_.gpu_data();
    const float* const dy = dy_.gpu_data();
    const std::string name = "softmax " + x_.shape_string();
    Compare(
        name + " forward", [&] { SoftmaxForward(context_, scores, x, y_.mutable_gpu_data()); },
        [&] { return LibrarySoftmaxForward(scores, x, their_y_.mutable_gpu_data()); }, y_,
        their_y_);
    Compare(
        name + " backward",
        [&] { SoftmaxBackward(context_, scores, y_.gpu_data(), dy, dx_.mutable_gpu_data()); },
        [&] {
          return LibrarySoftmaxBackward(scores, y_.gpu_data(), dy, their_dx_.mutable_gpu_data());
        },
        dx_, their_dx_);
  }
}

TEST_F(CudnnKernels, BatchNorm) {
  std::string why_not;
  const std::optional<BatchNormOfCudnn> batch_norm = layrub::OpenLibrary<BatchNormOfCudnn>(
      "libcudnn.so." + std::to_string(CUDNN_MAJOR), {"cuDNN", "update it."}, &why_not);
  ASSERT_TRUE(batch_norm) << why_not;
  for (const vector<int>& shape :
       {vector<int>{32, 64, 112, 112}, vector<int>{32, 256, 56, 56}, vector<int>{32, 512, 28, 28},
        vector<int>{32, 1024, 14, 14}, vector<int>{32, 2048, 7, 7}}) {
    SetShapes(shape, shape);
    const ChannelShape channels{shape[0], shape[1], int64_t{shape[2]} * shape[3]};
    const float epsilon = 1e-5f;
    const vector<int> per_channel = {1, shape[1], 1, 1};
    Blob<float> mean(per_channel), inverse(per_channel), room({2, shape[1]});
    Blob<float> their_mean(per_channel), their_inverse(per_channel), scale(per_channel),
        shift(per_channel), dscale(per_channel), dshift(per_channel);
    std::fill_n(scale.mutable_cpu_data(), shape[1], 1.f);
    const float* const x = x_.gpu_data();
    const float* const dy = dy_.gpu_data();
    const Tensor tensor(x_), parameters(mean);
    const std::string name = "ResNet-50 BatchNorm " + x_.shape_string();
    Compare(
        name + " forward",
        [&] {
          float* const m = mean.mutable_gpu_data();
          float* const i = inverse.mutable_gpu_data();
          NormalizeBatch<float>(context_, channels, x, Epsilon::kOfVariance, epsilon, {}, m, i, {},
                                y_.mutable_gpu_data(), nullptr);
        },
        [&] {
          return batch_norm->BatchNormalizationForwardTraining(
                     *library_, CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, tensor, x, tensor,
                     their_y_.mutable_gpu_data(), parameters, scale.gpu_data(), shift.gpu_data(), 1,
                     nullptr, nullptr, epsilon, their_mean.mutable_gpu_data(),
                     their_inverse.mutable_gpu_data()) == CUDNN_STATUS_SUCCESS;
        },
        y_, their_y_);
    Compare(
        name + " backward",
        [&] {
          const NormalizedSource<float> source{x, mean.gpu_data(), inverse.gpu_data()};
          NormalizeBackward<float>(context_, channels, source, {}, dy,
                                   {{}, {}, dx_.mutable_gpu_data()}, room.mutable_gpu_data());
        },
        [&] {
          return batch_norm->BatchNormalizationBackward(
                     *library_, CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, &kOne, &kZero, tensor, x,
                     tensor, dy, tensor, their_dx_.mutable_gpu_data(), parameters, scale.gpu_data(),
                     dscale.mutable_gpu_data(), dshift.mutable_gpu_data(), epsilon,
                     their_mean.gpu_data(), their_inverse.gpu_data()) == CUDNN_STATUS_SUCCESS;
        },
        dx_, their_dx_);
  }
}

#else

TEST(CudnnKernels, AreNotInThisBuild) {
  GTEST_SKIP() << "This build has no cuDNN to compare our kernels with.";
}

#endif  // USE_CUDNN

}  // namespace
}  // namespace kernels
}  // namespace caffe
