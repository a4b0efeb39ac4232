// Kernels launched on the CPU in the way of a GPU give the same results as loops.
#define LAYRUB_LAUNCH_ON_HOST
// Only test builds of the library have such launches: see docs/testing.md.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "caffe/kernels/host_launch.cpp"  // NOLINT(bugprone-suspicious-include)
#include "caffe/kernels/loops.hpp"
#include "caffe/kernels/packed_loops.hpp"
#include "caffe/kernels/teams.hpp"
#include "caffe/util/library_workspace.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace kernels {

#ifndef CPU_ONLY
/// For a GPU build, in which no other code launches kernels on the CPU.
void QueueOnHost(void* /*stream*/, std::function<void()> run) { run(); }
#endif

namespace {

DeviceContext Launched() {
  DeviceContext context;
  context.launch = true;
  return context;
}

std::vector<double> Numbers(int64_t n) {
  std::vector<double> numbers(n);
  for (int64_t i = 0; i < n; ++i) numbers[i] = static_cast<double>(i * 7 % 13 - 6);
  return numbers;
}

TEST(LaunchOnHost, RunsEachThreadOfEachBlockOnce) {
  std::vector<int> runs(7 * 5);
  for (const bool barriers : {false, true}) {
    LaunchOnHost(7, 5, barriers, [&] {
      EXPECT_EQ(gridDim.x, 7u);
      EXPECT_EQ(blockDim.x, 5u);
      ++runs[blockIdx.x * 5 + threadIdx.x];
    });
  }
  EXPECT_EQ(runs, std::vector<int>(7 * 5, 2));
}

TEST(LaunchOnHost, HoldsThreadsAtABarrierUntilAllArrive) {
  int at_first[8] = {}, at_second[8] = {};
  LaunchOnHost(3, 8, true, [&] {
    const unsigned me = threadIdx.x;
    at_first[me] = static_cast<int>(me + blockIdx.x);
    __syncthreads();
    at_second[me] = at_first[(me + 1) % 8];
    __syncthreads();
    EXPECT_EQ(at_second[(me + 3) % 8], static_cast<int>((me + 4) % 8 + blockIdx.x));
    __syncthreads();
  });
}

// Under the thread sanitizer, system threads would wait forever.
#ifndef __SANITIZE_THREAD__
using LaunchOnHostDeathTest = ::testing::Test;

TEST_F(LaunchOnHostDeathTest, ReportsThreadsThatMissABarrier) {
  EXPECT_DEATH(LaunchOnHost(2, 8, true,
                            [] {
                              if (threadIdx.x < 3) __syncthreads();
                            }),
               "5 of 8 threads of block 1 have ended without reaching it");
}

TEST_F(LaunchOnHostDeathTest, ReportsAnUndeclaredBarrier) {
  EXPECT_DEATH(LaunchOnHost(1, 2, false, [] { __syncthreads(); }), "launched without barriers");
}
#endif

bool LoopsOverElementsAgree(int64_t n) {
  std::vector<int> runs(n);
  int* const counts = runs.data();
  ParallelFor(Launched(), n, [=](int64_t i) { ++counts[i]; });
  ParallelForHeavy(Launched(), n, 100, [=](int64_t i) { ++counts[i]; });
  ParallelFor(
      Launched(), n, [=](int64_t i) { return counts[i] + 1; }, To{counts});
  return runs == std::vector<int>(n, 3);
}

bool LoopsOverRowsAgree(int64_t rows, int columns) {
  std::vector<int> runs(rows * columns);
  int* const counts = runs.data();
  ParallelForRows(Launched(), rows, columns,
                  [=](int64_t row, int64_t column) { ++counts[row * columns + column]; });
  ParallelForSegments(Launched(), rows, columns, 1, [=](int64_t row, int begin, int end) {
    for (int i = begin; i < end; ++i) ++counts[row * columns + i];
  });
  return runs == std::vector<int>(rows * columns, 2);
}

bool LoopsOverChannelsAgree(int64_t outer, int64_t channels, int64_t inner) {
  std::vector<int64_t> found[2];
  for (int launched = 0; launched < 2; ++launched) {
    found[launched].assign(outer * channels * inner, -1);
    ParallelForChannels(
        launched ? Launched() : DeviceContext(), outer, channels, inner,
        [=](int64_t channel, int64_t i) { return channel * 1000000 + i; },
        To{found[launched].data()});
  }
  for (int64_t i = 0; i < outer * channels * inner; ++i) {
    if (found[1][i] != i / inner % channels * 1000000 + i) return false;
  }
  return found[0] == found[1];
}

bool SumsAgree(int64_t rows, int64_t n) {
  const std::vector<double> x = Numbers(rows * n);
  const double* const values = x.data();
  for (const DeviceContext& context : {DeviceContext(), Launched()}) {
    std::vector<double> sums(rows, -1);
    double* const out = sums.data();
    ParallelReduce<double>(
        context, rows, n, [=](int64_t row, int64_t i) { return values[row * n + i]; },
        [=](int64_t row, double sum) { out[row] = sum; });
    for (int64_t row = 0; row < rows; ++row) {
      if (sums[row] != std::accumulate(values + row * n, values + (row + 1) * n, 0.0)) return false;
    }
  }
  return true;
}

/// Computes y = x - the channel's mean, and the channel's sum of y^2.
bool StepsOnChannelsAgree(int64_t outer, int64_t channels, int64_t inner) {
  const std::vector<double> x = Numbers(outer * channels * inner);
  std::vector<double> results[2];
  for (int launched = 0; launched < 2; ++launched) {
    std::vector<double> y(x.size()), mean(channels), squares(channels);
    const double* const from = x.data();
    double *const to = y.data(), *const means = mean.data(), *const sums = squares.data();
    const auto count = static_cast<double>(outer * inner);
    ForChannels(
        launched ? Launched() : DeviceContext(), outer, channels, inner,
        SumOf<double>(
            [=](int64_t, int64_t i) { return from[i]; },
            [=](int64_t channel, double sum) { means[channel] = std::floor(sum / count); }),
        EachOf([=](int64_t channel, int64_t i) { return from[i] - means[channel]; }, To{to}),
        SumOf<double>([=](int64_t, int64_t i) { return to[i] * to[i]; },
                      [=](int64_t channel, double sum) { sums[channel] = sum; }));
    results[launched] = y;
    results[launched].insert(results[launched].end(), squares.begin(), squares.end());
  }
  return results[0] == results[1];
}

/// Compares the mean and variance of each channel with those in double precision.
bool MomentsAgree(int64_t outer, int64_t inner, float mean, float deviation) {
  constexpr int64_t kChannels = 3;
  std::vector<float> x(outer * kChannels * inner);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = mean + deviation * std::sin(static_cast<float>(i * i));
  const float* const from = x.data();
  std::vector<double> sums(kChannels), squares(kChannels);
  const auto count = static_cast<double>(outer * inner);
  for (size_t i = 0; i < x.size(); ++i) sums[i / inner % kChannels] += x[i];
  for (size_t i = 0; i < x.size(); ++i) {
    const double distance = x[i] - sums[i / inner % kChannels] / count;
    squares[i / inner % kChannels] += distance * distance;
  }
  for (const DeviceContext& context : {DeviceContext(), Launched()}) {
    bool agree = true;
    bool* const all = &agree;
    const double *const sum = sums.data(), *const square = squares.data();
    ForChannels(context, outer, kChannels, inner,
                MomentsOf<float>([=](int64_t, int64_t i) { return from[i]; },
                                 [=](int64_t channel, float found, float variance) {
                                   const double expected = sum[channel] / count;
                                   const double scale = std::abs(expected) + deviation;
                                   if (std::abs(found - expected) > 1e-6 * scale) *all = false;
                                   const double spread = square[channel] / count;
                                   const double error = std::abs(variance - spread);
                                   if (error > 1e-5 * spread + 1e-13 * scale * scale) *all = false;
                                 }));
    if (!agree) return false;
  }
  return true;
}

/// A team computes each item's sum and maximum, and reads what another of its threads has written.
bool TeamsAgree(int64_t items, int64_t length, bool scattered) {
  const std::vector<double> x = Numbers(items * length);
  std::vector<double> results[2];
  for (int launched = 0; launched < 2; ++launched) {
    results[launched].resize(2 * items + items * length);
    std::vector<double> written(items * length);
    const double* const from = x.data();
    double *const out = results[launched].data(), *const between = written.data();
    ParallelTeams(launched ? Launched() : DeviceContext(), items, length, scattered,
                  [=](int64_t item, const Team& team) {
                    double sum = 0, greatest = -INFINITY;
                    for (int64_t k = team.first; k < length; k += team.step) {
                      sum += from[item * length + k];
                      greatest = std::max(greatest, from[item * length + k]);
                      between[item * length + k] = from[item * length + k];
                    }
                    team.Sync();
                    for (int64_t k = team.first; k < length; k += team.step)
                      out[2 * items + item * length + k] =
                          between[item * length + (k + 1) % length];
                    sum = team.Sum(sum);
                    greatest = team.Max(greatest);
                    if (team.first != 0) return;
                    out[2 * item] = sum;
                    out[2 * item + 1] = greatest;
                  });
  }
  return results[0] == results[1];
}

/// Computes y = -x and codes of x.
template <int kBits>
bool CodesAgree(int64_t n) {
  const std::vector<double> x = Numbers(n);
  std::vector<double> y[2];
  std::vector<uint8_t> codes[2];
  for (int launched = 0; launched < 2; ++launched) {
    y[launched].assign(n, 99);
    codes[launched].assign(PackedBytes(n, kBits), 0xA5);
    ForwardWithCodes<kBits>(
        launched ? Launched() : DeviceContext(), n, x.data(), y[launched].data(),
        codes[launched].data(), [](double v) { return -v; },
        [](double v) { return static_cast<unsigned>(static_cast<int>(v) + 6) % (1u << kBits); });
  }
  for (int64_t i = 0; i < n; ++i) {
    if (CodeAt<kBits>(codes[1].data(), i) != static_cast<unsigned>(i * 7 % 13) % (1u << kBits))
      return false;
  }
  return y[0] == y[1] && codes[0] == codes[1];
}

TEST(LaunchedSums, OfFewRowsUseAsManyBlocksAsOfManyRows) {
  for (const int64_t rows : {int64_t{1}, int64_t{3}, kFullGrid}) {
    std::vector<int> values(kFullGrid);
    int* const of_blocks = values.data();
    std::vector<double> sums(rows);
    ParallelReduce<double>(
        Launched(), rows, kFullGrid * kMinPart,
        [=](int64_t, int64_t) {
          std::atomic_ref<int>(of_blocks[blockIdx.x]).store(1);
          return 1.0;
        },
        To{sums.data()});
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), kFullGrid / rows * rows);
    EXPECT_EQ(sums, std::vector<double>(rows, static_cast<double>(kFullGrid * kMinPart)));
  }
}

TEST(LaunchedSums, AreReproducible) {
  std::vector<float> x(100 * kMinPart);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  const float* const from = x.data();
  float sums[2] = {};
  for (float& sum : sums) {
    ParallelReduce<float>(
        Launched(), 1, static_cast<int64_t>(x.size()), [=](int64_t, int64_t i) { return from[i]; },
        To{&sum});
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_NEAR(sums[0], std::accumulate(x.begin(), x.end(), 0.0), 1e-3);
}

TEST(PartialSums, UseTheWorkspaceOfTheRunningPlan) {
  double workspace[kFullGrid];
  library_workspace() = {workspace, sizeof(workspace)};
  EXPECT_EQ(PartialSums(Launched(), 16).memory(), workspace);
  double sum = 0;
  const int64_t n = 10 * kMinPart;
  ParallelReduce<double>(
      Launched(), 1, n, [](int64_t, int64_t) { return 1.0; }, To{&sum});
  library_workspace() = {};
  EXPECT_EQ(sum, n);
  EXPECT_EQ(std::accumulate(workspace, workspace + kFullGrid, 0.0), n);
}

TEST(PartialSums, UseTheDevicesPoolWithoutAPlan) {
  const std::unique_ptr<layrub::Device> device = layrub::MakeEmulatedDevice();
  DeviceContext context = Launched();
  context.gpu = true;
  context.device = device.get();
  {
    const PartialSums sums(context, 512);
    EXPECT_NE(sums.memory(), nullptr);
    EXPECT_EQ(device->pool().used(), 512);
  }
  EXPECT_EQ(device->pool().used(), 0);
}

TEST(PartialSums, FitInADevicesWorkspaceForAllTypes) {
  EXPECT_LE(kFullGrid * kPartBytes, layrub::MakeEmulatedDevice()->library_workspace_bytes());
}

TEST(Divider, AgreesWithIntegerDivision) {
  const auto agrees = [](int64_t n, int64_t divisor) {
    RC_ASSERT(Divider(divisor)(n) == n / divisor);
  };
  EXPECT_TRUE(rc::check("any", [&] {
    const int shift = *rc::gen::inRange(0, 63), other = *rc::gen::inRange(0, 63);
    const auto bits = [] { return static_cast<int64_t>(*rc::gen::arbitrary<uint64_t>() >> 1); };
    agrees(bits() >> shift, 1 + (bits() >> other) % INT64_MAX);
  }));
  EXPECT_TRUE(rc::check("around multiples", [&] {
    const int64_t divisor =
        1 + (*rc::gen::inRange<int64_t>(0, INT64_MAX) >> *rc::gen::inRange(0, 62));
    const int64_t multiple = INT64_MAX / divisor / *rc::gen::inRange(1, 9) * divisor;
    for (const int64_t n : {multiple - 1, multiple, INT64_MAX})
      if (n >= 0) agrees(n, divisor);
  }));
  for (const int64_t divisor : {int64_t{1}, int64_t{2}, int64_t{3}, INT64_MAX - 1, INT64_MAX}) {
    for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{2}, INT64_MAX - 1, INT64_MAX})
      EXPECT_EQ(Divider(divisor)(n), n / divisor) << n << " / " << divisor;
  }
}

TEST(LaunchedLoops, AgreeWithCpuLoops) {
  using rc::gen::inRange;
  const auto elements = [] { RC_ASSERT(LoopsOverElementsAgree(*inRange(0, 3000))); };
  const auto rows = [] { RC_ASSERT(LoopsOverRowsAgree(*inRange(0, 40), *inRange(0, 60))); };
  const auto sums = [] { RC_ASSERT(SumsAgree(*inRange(0, 9), *inRange(0, 300))); };
  const auto channels = [] {
    const int outer = *inRange(1, 5), count = *inRange(1, 9), inner = *inRange(1, 90);
    RC_ASSERT(StepsOnChannelsAgree(outer, count, inner));
    RC_ASSERT(LoopsOverChannelsAgree(outer, count, inner));
  };
  const auto teams = [] {
    RC_ASSERT(TeamsAgree(*inRange(0, 70), *inRange(1, 100), *rc::gen::arbitrary<bool>()));
  };
  EXPECT_TRUE(rc::check("elements", elements));
  EXPECT_TRUE(rc::check("rows", rows));
  EXPECT_TRUE(rc::check("sums", sums));
  EXPECT_TRUE(rc::check("channels", channels));
  EXPECT_TRUE(rc::check("teams", teams));
  EXPECT_TRUE(rc::check("codes", [] {
    const int64_t n = *inRange(0, 3000);
    RC_ASSERT(CodesAgree<1>(n));
    RC_ASSERT(CodesAgree<2>(n));
    RC_ASSERT(CodesAgree<4>(n));
  }));
  EXPECT_TRUE(rc::check("moments", [] {
    const auto mean = static_cast<float>(*inRange(-10000, 10000));
    RC_ASSERT(MomentsAgree(*inRange(1, 6), *inRange(1, 400), mean, 1));
    RC_ASSERT(MomentsAgree(*inRange(1, 6), *inRange(1, 400), 0, 100));
  }));
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
