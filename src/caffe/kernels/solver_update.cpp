#include "caffe/kernels/solver_update.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

namespace {

/// What a step leaves in the arrays of a parameter.
template <typename Dtype>
struct Step {
  Dtype gradient, history;
};
template <typename Dtype>
struct ToArrays {
  Dtype *gradient, *history;
  LAYRUB_HOST_DEVICE void operator()(int64_t i, const Step<Dtype>& step) const {
    history[i] = step.history;
    gradient[i] = step.gradient;
  }
};
template <typename Dtype>
ToArrays(Dtype*, Dtype*) -> ToArrays<Dtype>;

}  // namespace

template <typename Dtype>
void Scale(const DeviceContext& context, int64_t n, Dtype factor, Dtype* gradient) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) { return gradient[i] * factor; }, To{gradient});
}

template <typename Dtype>
void AddDecayL2(const DeviceContext& context, int64_t n, Dtype decay, const Dtype* weight,
                Dtype* gradient) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) { return gradient[i] + decay * weight[i]; },
      To{gradient});
}

template <typename Dtype>
void AddDecayL1(const DeviceContext& context, int64_t n, Dtype decay, const Dtype* weight,
                Dtype* gradient) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) {
        const int sign = (weight[i] > 0) - (weight[i] < 0);
        return gradient[i] + decay * sign;
      },
      To{gradient});
}

template <typename Dtype>
void SgdUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype momentum, Dtype* gradient,
               Dtype* history) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) {
        const Dtype next = momentum * history[i] + rate * gradient[i];
        return Step<Dtype>{next, next};
      },
      ToArrays{gradient, history});
}

template <typename Dtype>
void NesterovUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype momentum,
                    Dtype* gradient, Dtype* history) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) {
        const Dtype before = history[i];
        const Dtype next = momentum * before + rate * gradient[i];
        return Step<Dtype>{(1 + momentum) * next - momentum * before, next};
      },
      ToArrays{gradient, history});
}

template <typename Dtype>
void AdaGradUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype delta,
                   Dtype* gradient, Dtype* squares) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) {
        const Dtype g = gradient[i], sum = squares[i] + g * g;
        return Step<Dtype>{rate * g / (std::sqrt(sum) + delta), sum};
      },
      ToArrays{gradient, squares});
}

template <typename Dtype>
void RmsPropUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype decay, Dtype delta,
                   Dtype* gradient, Dtype* squares) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) {
        const Dtype g = gradient[i], mean = decay * squares[i] + (1 - decay) * g * g;
        return Step<Dtype>{rate * g / (std::sqrt(mean) + delta), mean};
      },
      ToArrays{gradient, squares});
}

// A thread of a GPU reads three arrays before it writes: as much under way as elsewhere.

template <typename Dtype>
void AdaDeltaUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype decay, Dtype delta,
                    Dtype* gradient, Dtype* squares, Dtype* steps) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype g = gradient[i], before = steps[i];
    const Dtype mean = decay * squares[i] + (1 - decay) * g * g;
    const Dtype step = g * std::sqrt((before + delta) / (mean + delta));
    squares[i] = mean;
    steps[i] = decay * before + (1 - decay) * step * step;
    gradient[i] = rate * step;
  });
}

template <typename Dtype>
void AdamUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype decay, Dtype decay2,
                Dtype delta, Dtype* gradient, Dtype* mean, Dtype* squares) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype g = gradient[i];
    const Dtype first = decay * mean[i] + (1 - decay) * g;
    const Dtype second = decay2 * squares[i] + (1 - decay2) * g * g;
    mean[i] = first;
    squares[i] = second;
    gradient[i] = rate * first / (std::sqrt(second) + delta);
  });
}

template <typename Dtype>
void SubtractStep(const DeviceContext& context, int64_t n, const Dtype* step, Dtype* weight) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) { return weight[i] - step[i]; }, To{weight});
}

template <typename Dtype>
void SumSquares(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* sum) {
  ParallelReduce<Dtype>(
      context, 1, n, [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return x[i] * x[i]; },
      [=] LAYRUB_HOST_DEVICE(int64_t, Dtype total) { sum[0] = total; });
}

template <typename Dtype>
void ClipFactor(const DeviceContext& context, int64_t n, const Dtype* squares, Dtype limit,
                Dtype* norm, Dtype* factor) {
  ParallelFor(context, 1, [=] LAYRUB_HOST_DEVICE(int64_t) {
    Dtype sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += squares[i];
    norm[0] = std::sqrt(sum);
    factor[0] = norm[0] <= limit ? Dtype(1) : limit / norm[0];
  });
}

template <typename Dtype>
void ScaleBy(const DeviceContext& context, int64_t n, const Dtype* factor, Dtype* gradient) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    if (factor[0] != Dtype(1)) gradient[i] *= factor[0];
  });
}

#define INSTANTIATE(Dtype)                                                                         \
  template void Scale<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype*);                        \
  template void AddDecayL2<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*);     \
  template void AddDecayL1<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*);     \
  template void SgdUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype*, Dtype*);     \
  template void NesterovUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype*,         \
                                      Dtype*);                                                     \
  template void AdaGradUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype*, Dtype*); \
  template void RmsPropUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype, Dtype*,   \
                                     Dtype*);                                                      \
  template void AdaDeltaUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype, Dtype*,  \
                                      Dtype*, Dtype*);                                             \
  template void AdamUpdate<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, Dtype, Dtype,       \
                                  Dtype*, Dtype*, Dtype*);                                         \
  template void SubtractStep<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);          \
  template void SumSquares<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);            \
  template void ClipFactor<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype, Dtype*,      \
                                  Dtype*);                                                         \
  template void ScaleBy<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
