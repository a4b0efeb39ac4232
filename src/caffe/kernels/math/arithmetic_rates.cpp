#include "caffe/util/arithmetic_rates.hpp"

#include <algorithm>
#include <utility>

#include "caffe/kernels/math/gemm.hpp"
#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/operands.hpp"
#include "caffe/util/benchmark.hpp"
#include "caffe/util/library_settings.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace {

constexpr int kRuns = 5;
/// The sizes below are tried in order until a run takes this long, so that launches and caches do
/// not matter. The last ones are large enough for the fastest devices.
constexpr double kLongEnough = 5e-3;
constexpr int64_t kSides[] = {768, 1536, 4096};
constexpr int64_t kVectors[] = {int64_t{8} << 20, int64_t{64} << 20};

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

/// Sets library_settings().tf32 while this object exists.
class Rounding {
 public:
  explicit Rounding(Tf32 tf32) : before_(std::exchange(library_settings().tf32, tf32)) {}
  ~Rounding() { library_settings().tf32 = before_; }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  const Tf32 before_;
};

/// Operations per second in a product of large matrices.
double ProductRate(const DeviceContext& context, Tf32 tf32) {
  const Rounding rounding(tf32);
  double rate = 0;
  for (const int64_t side : kSides) {
    Blob<float> a({2, static_cast<int>(side), static_cast<int>(side)}), b(a.shape());
    // Not zeros, which a GPU multiplies faster.
    float* const values = a.mutable_cpu_data();
    for (int i = 0; i < a.count(); ++i) values[i] = static_cast<float>(i % 17) / 16;
    const float* const x = Data(context, a);
    float* const y = MutableData(context, &b);
    const double seconds = Seconds([&] {
      kernels::Gemm(context, kernels::Transpose::kNo, kernels::Transpose::kNo, side, side, side,
                    1.0f, x, x + side * side, 0.0f, y);
    });
    rate = 2.0 * static_cast<double>(side * side * side) / seconds;
    if (seconds > kLongEnough) break;
  }
  return rate;
}

}  // namespace

ArithmeticRates MeasureArithmetic() {
  const DeviceContext context = DeviceContext::Current();
  ArithmeticRates rates;
  for (const int64_t count : kVectors) {
    Blob<float> a({static_cast<int>(count)}), b(a.shape());
    const float* const x = Data(context, a);
    float* const y = MutableData(context, &b);
    const double seconds = Seconds([&] { kernels::SubtractStep(context, count, x, y); });
    // Reads two vectors and writes one.
    rates.memory_bandwidth = 3.0 * static_cast<double>(count * int64_t{sizeof(float)}) / seconds;
    if (seconds > kLongEnough) break;
  }
  rates.flops = ProductRate(context, Tf32::kOff);
  rates.tf32_flops = context.gpu ? ProductRate(context, Tf32::kAll) : 0;
  if (context.gpu) context.device->pool().Trim();
  return rates;
}

}  // namespace caffe
