#include "caffe/kernels/batch_norm.hpp"

#include <cmath>

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {
namespace {

/// One normalised value. Every form goes through this expression, so that all give the same bits.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline Dtype Normalized(Dtype x, Dtype mean, Dtype inverse) {
  return (x - mean) * inverse;
}

template <typename Dtype>
LAYRUB_HOST_DEVICE inline Dtype Normalized(const NormalizedSource<Dtype>& source, int64_t channel,
                                           int64_t i) {
  const Dtype value = source.values[i];
  return source.mean == nullptr ? value
                                : Normalized(value, source.mean[channel], source.inverse[channel]);
}

/// What y gets for x, and the normalised value.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline ValueAndCopy<Dtype> NormalizedTo(Dtype x, Dtype mean, Dtype inverse,
                                                           const ChannelAffine<Dtype>& after,
                                                           int64_t channel) {
  const Dtype value = Normalized(x, mean, inverse);
  return {after.scale == nullptr ? value : value * after.scale[channel] + after.bias[channel],
          value};
}

/// Two sums that are made in one pass.
template <typename Dtype>
struct TwoSums {
  Dtype first, second;
  LAYRUB_HOST_DEVICE TwoSums& operator+=(const TwoSums& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
  LAYRUB_HOST_DEVICE TwoSums operator+(const TwoSums& other) const {
    return {first + other.first, second + other.second};
  }
};

}  // namespace

template <typename Dtype>
void AverageStatistics(const DeviceContext& context, int64_t channels, const Dtype* mean_sum,
                       const Dtype* variance_sum, const Dtype* count, Dtype* mean,
                       Dtype* variance) {
  ParallelFor(context, channels, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype scale = *count == 0 ? Dtype(0) : 1 / *count;
    mean[i] = mean_sum[i] * scale;
    variance[i] = variance_sum[i] * scale;
  });
}

template <typename Dtype>
void InverseDeviation(const DeviceContext& context, int64_t channels, Dtype epsilon,
                      const Dtype* variance, Dtype* inverse) {
  ParallelFor(context, channels, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    inverse[i] = 1 / std::sqrt(variance[i] + epsilon);
  });
}

template <typename Dtype>
void Normalize(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
               const Dtype* mean, const Dtype* inverse, const ChannelAffine<Dtype>& affine,
               Dtype* y, Dtype* copy) {
  const ChannelAffine<Dtype> after = affine;
  ParallelForChannels(
      context, shape.outer, shape.channels, shape.inner,
      [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
        return NormalizedTo(x[i], mean[channel], inverse[channel], after, channel);
      },
      ToBoth{y, copy});
}

template <typename Dtype>
void NormalizeBatch(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                    Epsilon of, Dtype epsilon, const RunningStatistics<Dtype>& running, Dtype* mean,
                    Dtype* inverse, const ChannelAffine<Dtype>& affine, Dtype* y, Dtype* copy) {
  const RunningStatistics<Dtype> follow = running;
  const ChannelAffine<Dtype> after = affine;
  ForChannels(
      context, shape.outer, shape.channels, shape.inner,
      MomentsOf<Dtype>([=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return x[i]; },
                       [=] LAYRUB_HOST_DEVICE(int64_t channel, Dtype average, Dtype variance) {
                         mean[channel] = average;
                         inverse[channel] = of == Epsilon::kOfVariance
                                                ? 1 / std::sqrt(variance + epsilon)
                                                : 1 / (std::sqrt(variance) + epsilon);
                         if (follow.mean == nullptr) return;
                         follow.mean[channel] =
                             follow.keep * follow.mean[channel] + follow.mean_weight * average;
                         follow.variance[channel] = follow.keep * follow.variance[channel] +
                                                    follow.variance_weight * variance;
                         if (follow.count != nullptr && channel == 0)
                           *follow.count = follow.keep * *follow.count + 1;
                       }),
      EachOf(
          [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
            return NormalizedTo(x[i], mean[channel], inverse[channel], after, channel);
          },
          ToBoth{y, copy}));
}

template <typename Dtype>
void NormalizeBackward(const DeviceContext& context, const ChannelShape& shape,
                       const NormalizedSource<Dtype>& source, const Dtype* scale, const Dtype* dy,
                       Dtype* dx, Dtype* workspace) {
  const NormalizedSource<Dtype> stored = source;
  const Dtype count = static_cast<Dtype>(shape.PerChannel());
  Dtype* const mean_dy = workspace;
  Dtype* const mean_product = workspace + shape.channels;
  ForChannels(context, shape.outer, shape.channels, shape.inner,
              SumOf<TwoSums<Dtype>>(
                  [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
                    return TwoSums<Dtype>{dy[i], dy[i] * Normalized(stored, channel, i)};
                  },
                  [=] LAYRUB_HOST_DEVICE(int64_t channel, const TwoSums<Dtype>& sums) {
                    mean_dy[channel] = sums.first / count;
                    mean_product[channel] = sums.second / count;
                  }),
              EachOf(
                  [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
                    const Dtype value = Normalized(stored, channel, i);
                    const Dtype result =
                        (dy[i] - mean_dy[channel] - mean_product[channel] * value) *
                        stored.inverse[channel];
                    return scale == nullptr ? result : result * scale[channel];
                  },
                  To{dx}));
}

template <typename Dtype>
void NormalizeBackwardConstant(const DeviceContext& context, const ChannelShape& shape,
                               const Dtype* inverse, const Dtype* scale, const Dtype* dy,
                               Dtype* dx) {
  ParallelForChannels(
      context, shape.outer, shape.channels, shape.inner,
      [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
        const Dtype result = dy[i] * inverse[channel];
        return scale == nullptr ? result : result * scale[channel];
      },
      To{dx});
}

template <typename Dtype>
void NormalizedScaleGradient(const DeviceContext& context, const ChannelShape& shape,
                             const NormalizedSource<Dtype>& source, const Dtype* dy,
                             const Accumulator<Dtype>& dscale) {
  const Accumulator<Dtype> to = dscale;
  const NormalizedSource<Dtype> stored = source;
  ReduceChannels<Dtype>(
      context, shape.outer, shape.channels, shape.inner,
      [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
        return dy[i] * Normalized(stored, channel, i);
      },
      [=] LAYRUB_HOST_DEVICE(int64_t channel, Dtype sum) { to.Add(channel, sum); });
}

#define LAYRUB_INSTANTIATE_BATCH_NORM(Dtype)                                                       \
  template void AverageStatistics(const DeviceContext&, int64_t, const Dtype*, const Dtype*,       \
                                  const Dtype*, Dtype*, Dtype*);                                   \
  template void InverseDeviation(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*);      \
  template void Normalize(const DeviceContext&, const ChannelShape&, const Dtype*, const Dtype*,   \
                          const Dtype*, const ChannelAffine<Dtype>&, Dtype*, Dtype*);              \
  template void NormalizeBatch(const DeviceContext&, const ChannelShape&, const Dtype*, Epsilon,   \
                               Dtype, const RunningStatistics<Dtype>&, Dtype*, Dtype*,             \
                               const ChannelAffine<Dtype>&, Dtype*, Dtype*);                       \
  template void NormalizeBackward(const DeviceContext&, const ChannelShape&,                       \
                                  const NormalizedSource<Dtype>&, const Dtype*, const Dtype*,      \
                                  Dtype*, Dtype*);                                                 \
  template void NormalizeBackwardConstant(const DeviceContext&, const ChannelShape&, const Dtype*, \
                                          const Dtype*, const Dtype*, Dtype*);                     \
  template void NormalizedScaleGradient(const DeviceContext&, const ChannelShape&,                 \
                                        const NormalizedSource<Dtype>&, const Dtype*,              \
                                        const Accumulator<Dtype>&)
LAYRUB_INSTANTIATE_BATCH_NORM(float);
LAYRUB_INSTANTIATE_BATCH_NORM(double);
#undef LAYRUB_INSTANTIATE_BATCH_NORM

}  // namespace kernels
}  // namespace caffe
