#include "caffe/util/arithmetic_rates.hpp"

#include <algorithm>

#include "caffe/kernels/gemm.hpp"
#include "caffe/kernels/solver_update.hpp"
#include "caffe/util/benchmark.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace {

constexpr int kRuns = 5;

/// What is large enough: on a GPU a launch must not count, on a CPU caches must not.
struct Sizes {
  int64_t side;    ///< of the matrices
  int64_t vector;  ///< values; no fewer than two matrices have
};
constexpr Sizes kOnCpu{768, int64_t{8} << 20}, kOnGpu{4096, int64_t{64} << 20};

/// Seconds of the fastest of several runs.
template <typename Run>
double Seconds(const Run& run) {
  double fastest = 0;
  for (int i = 0; i < kRuns; ++i) {
    Timer timer;
    timer.Start();
    run();
    const double seconds = timer.MicroSeconds() / 1e6;
    if (i == 0 || seconds < fastest) fastest = seconds;
  }
  return std::max(fastest, 1e-9);
}

}  // namespace

ArithmeticRates MeasureArithmetic() {
  const DeviceContext context = DeviceContext::Current();
  const Sizes sizes = context.launch ? kOnGpu : kOnCpu;
  const int64_t side = sizes.side;
  ArithmeticRates rates;
  {
    Blob<float> a({static_cast<int>(sizes.vector)}), b(a.shape());
    // A GPU multiplies zeros faster than numbers.
    float* const values = a.mutable_cpu_data();
    for (int64_t i = 0; i < sizes.vector; ++i) values[i] = static_cast<float>(i % 17) / 16;
    const float* const x = Data(context, a);
    float* const y = MutableData(context, &b);
    rates.flops = 2.0 * static_cast<double>(side * side * side) / Seconds([&] {
                    kernels::Gemm(context, kernels::Transpose::kNo, kernels::Transpose::kNo, side,
                                  side, side, 1.0f, x, x + side * side, 0.0f, y);
                  });
    // Reads two vectors and writes one.
    rates.memory_bandwidth = 3.0 * static_cast<double>(sizes.vector * int64_t{sizeof(float)}) /
                             Seconds([&] { kernels::SubtractStep(context, sizes.vector, x, y); });
  }
  if (context.gpu) context.device->pool().Trim();
  return rates;
}

}  // namespace caffe
