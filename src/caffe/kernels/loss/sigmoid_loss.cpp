#include "caffe/kernels/loss/sigmoid_loss.hpp"

#include <cmath>

#include "caffe/kernels/loss/divisor.hpp"

namespace caffe {
namespace kernels {

namespace {

/// Number of values in one sum.
constexpr int64_t kStretch = 4096;

template <typename Dtype>
LAYRUB_HOST_DEVICE bool Ignored(const Labels<Dtype>& targets, int64_t i) {
  return targets.has_ignore && std::trunc(targets.values[i]) == static_cast<Dtype>(targets.ignore);
}

}  // namespace

int64_t SigmoidLossSums(int64_t n) { return (n + kStretch - 1) / kStretch; }

template <typename Dtype>
void SigmoidLosses(const DeviceContext& context, int64_t n, const Dtype* x,
                   const Labels<Dtype>& targets, Dtype* sums) {
  const int64_t stretch = n < kStretch ? n : kStretch;
  ParallelReduce<double>(
      context, SigmoidLossSums(n), stretch,
      [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) -> double {
        const int64_t i = row * stretch + column;
        if (i >= n || Ignored(targets, i)) return 0;
        // In this form the exponential does not overflow.
        return (x[i] < 0 ? 0 : x[i]) - x[i] * targets.values[i] +
               std::log1p(std::exp(-std::fabs(x[i])));
      },
      [=] LAYRUB_HOST_DEVICE(int64_t row, double sum) { sums[row] = static_cast<Dtype>(sum); });
}

template <typename Dtype>
void CountTargets(const DeviceContext& context, int64_t n, const Labels<Dtype>& targets,
                  LabelCounts* counts) {
  ParallelReduce<double>(
      context, 1, n,
      [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) -> double { return !Ignored(targets, i); },
      [=] LAYRUB_HOST_DEVICE(int64_t, double sum) {
        counts->counted = sum;
        counts->out_of_range = counts->sum = 0;
      });
}

template <typename Dtype>
void SigmoidLossBackward(const DeviceContext& context, int64_t n, const Dtype* source,
                         bool is_sigmoid, const Labels<Dtype>& targets,
                         const Normalizer& normalizer, const Dtype* weight, Dtype* dx) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype scale = GradientScale(weight, normalizer);
    const Dtype sigmoid = is_sigmoid ? source[i] : 1 / (1 + std::exp(-source[i]));
    dx[i] = Ignored(targets, i) ? Dtype(0) : (sigmoid - targets.values[i]) * scale;
  });
}

#define INSTANTIATE(Dtype)                                                                        \
  template void SigmoidLosses<Dtype>(const DeviceContext&, int64_t, const Dtype*,                 \
                                     const Labels<Dtype>&, Dtype*);                               \
  template void CountTargets<Dtype>(const DeviceContext&, int64_t, const Labels<Dtype>&,          \
                                    LabelCounts*);                                                \
  template void SigmoidLossBackward<Dtype>(const DeviceContext&, int64_t, const Dtype*, bool,     \
                                           const Labels<Dtype>&, const Normalizer&, const Dtype*, \
                                           Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
