#include "caffe/kernels/norm/batch_norm.hpp"

#include <cmath>

#include "caffe/kernels/activation/rectifier.hpp"
#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {
namespace {

/// Returns a normalised value. Every variant uses this expression, so that all give the same bits.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline Dtype Normalized(Dtype x, Dtype mean, Dtype inverse) {
  return (x - mean) * inverse;
}

/// The new values and the normalised values of some channels. A skipped step uses constants that
/// change no bit: x * 1, x + -0.
template <typename Dtype, int kLanes>
struct NormalizedChannels {
  const Dtype* x;
  Dtype mean[kLanes], inverse[kLanes];
  Dtype scale[kLanes], bias[kLanes], slope;

  LAYRUB_HOST_DEVICE ValueAndCopy<Dtype> operator()(int lane, int64_t i) const {
    const Dtype value = Normalized(x[i], mean[lane], inverse[lane]);
    return {Relu(value * scale[lane] + bias[lane], slope), value};
  }
};
template <typename Dtype>
struct NormalizedValues {
  const Dtype *x, *mean, *inverse;
  AfterNormalizing<Dtype> after;

  template <int kLanes>
  LAYRUB_HOST_DEVICE NormalizedChannels<Dtype, kLanes> Of(int64_t channel) const {
    NormalizedChannels<Dtype, kLanes> of;
    of.x = x;
    of.slope = after.rectify ? after.slope : Dtype(1);
    for (int lane = 0; lane < kLanes; ++lane) {
      of.mean[lane] = mean[channel + lane];
      of.inverse[lane] = inverse[channel + lane];
      of.scale[lane] = after.scale != nullptr ? after.scale[channel + lane] : Dtype(1);
      of.bias[lane] = after.bias != nullptr ? after.bias[channel + lane] : -Dtype(0);
    }
    return of;
  }
};

/// The gradients of an element in a backward pass.
template <typename Dtype>
struct ElementGradient {
  Dtype normalised;
  Dtype g;  ///< the derivative of the rectifier's input
  Dtype h;  ///< the derivative of the normalised value, before means are subtracted
};

/// Computes ElementGradient for elements of some channels. A skipped step uses constants that
/// change no bit of the values in use.
template <typename Dtype, int kLanes>
struct ChannelGradients {
  const Dtype* values;
  const Dtype* dy;
  Dtype mean[kLanes], inverse[kLanes];  // normalise `values`
  Dtype factor[kLanes], bias[kLanes];   // give the sign of the rectifier's input
  Dtype scale[kLanes], slope;

  LAYRUB_HOST_DEVICE ChannelGradients(const NormalizedSource<Dtype>& source,
                                      const AfterNormalizing<Dtype>& after, const Dtype* gradient,
                                      int64_t channel)
      : values(source.rectified != nullptr ? source.rectified : source.values),
        dy(gradient),
        slope(after.rectify ? after.slope : Dtype(1)) {
    if (values == nullptr) values = dy;  // no wanted output depends on them
    const bool computed = source.rectified == nullptr;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int64_t c = channel + lane;
      mean[lane] = source.mean != nullptr ? source.mean[c] : Dtype(0);
      inverse[lane] = source.mean != nullptr ? source.inverse[c] : Dtype(1);
      scale[lane] = after.scale != nullptr ? after.scale[c] : Dtype(1);
      factor[lane] = computed ? scale[lane] : Dtype(1);
      bias[lane] = computed && after.bias != nullptr ? after.bias[c] : Dtype(0);
    }
  }

  LAYRUB_HOST_DEVICE ElementGradient<Dtype> operator()(int lane, int64_t i) const {
    const Dtype normalised = Normalized(values[i], mean[lane], inverse[lane]);
    const Dtype g = ReluGradient(normalised * factor[lane] + bias[lane] > 0, slope, dy[i]);
    return {normalised, g, g * scale[lane]};
  }
};

/// The inputs of a backward pass.
template <typename Dtype>
struct GradientSource {
  NormalizedSource<Dtype> source;
  AfterNormalizing<Dtype> after;
  const Dtype* dy;

  template <int kLanes>
  LAYRUB_HOST_DEVICE ChannelGradients<Dtype, kLanes> OfChannels(int64_t channel) const {
    return {source, after, dy, channel};
  }
};

/// The sums over a channel in a backward pass.
template <typename Dtype, int kSums>
struct GradientSums : GradientSource<Dtype> {
  template <int kLanes>
  struct OfLanes {
    ChannelGradients<Dtype, kLanes> gradient;
    LAYRUB_HOST_DEVICE Sums<Dtype, kSums> operator()(int lane, int64_t i) const {
      const ElementGradient<Dtype> of = gradient(lane, i);
      if constexpr (kSums == 2) {
        return {{of.h, of.h * of.normalised}};
      } else {
        return {{of.h, of.h * of.normalised, of.g, of.g * of.normalised}};
      }
    }
  };
  template <int kLanes>
  LAYRUB_HOST_DEVICE OfLanes<kLanes> Of(int64_t channel) const {
    return {this->template OfChannels<kLanes>(channel)};
  }
};

/// Computes dx of a channel.
template <typename Dtype>
struct NormalizedGradient : GradientSource<Dtype> {
  const Dtype *mean_h, *mean_product;

  template <int kLanes>
  struct OfLanes {
    ChannelGradients<Dtype, kLanes> gradient;
    Dtype mean_h[kLanes], mean_product[kLanes], inverse[kLanes];
    LAYRUB_HOST_DEVICE Dtype operator()(int lane, int64_t i) const {
      const ElementGradient<Dtype> of = gradient(lane, i);
      return (of.h - mean_h[lane] - mean_product[lane] * of.normalised) * inverse[lane];
    }
  };
  template <int kLanes>
  LAYRUB_HOST_DEVICE OfLanes<kLanes> Of(int64_t channel) const {
    OfLanes<kLanes> of{this->template OfChannels<kLanes>(channel), {}, {}, {}};
    for (int lane = 0; lane < kLanes; ++lane) {
      of.mean_h[lane] = mean_h[channel + lane];
      of.mean_product[lane] = mean_product[channel + lane];
      of.inverse[lane] = this->source.inverse[channel + lane];
    }
    return of;
  }
};
template <typename Dtype>
struct ConstantGradient : GradientSource<Dtype> {
  template <int kLanes>
  struct OfLanes {
    ChannelGradients<Dtype, kLanes> gradient;
    Dtype inverse[kLanes];
    LAYRUB_HOST_DEVICE Dtype operator()(int lane, int64_t i) const {
      return gradient(lane, i).h * inverse[lane];
    }
  };
  template <int kLanes>
  LAYRUB_HOST_DEVICE OfLanes<kLanes> Of(int64_t channel) const {
    OfLanes<kLanes> of{this->template OfChannels<kLanes>(channel), {}};
    for (int lane = 0; lane < kLanes; ++lane)
      of.inverse[lane] = this->source.inverse[channel + lane];
    return of;
  }
};

/// Takes the sums over a channel, and stores the means of `count` values.
template <typename Dtype>
struct StoreMeans {
  NormalizeGradients<Dtype> to;
  Dtype count;
  Dtype *h, *product;

  LAYRUB_HOST_DEVICE void operator()(int64_t channel, const Sums<Dtype, 2>& sums) const {
    h[channel] = sums.values[0] / count;
    product[channel] = sums.values[1] / count;
  }
  LAYRUB_HOST_DEVICE void operator()(int64_t channel, const Sums<Dtype, 4>& sums) const {
    h[channel] = sums.values[0] / count;
    product[channel] = sums.values[1] / count;
    to.scale.Add(channel, sums.values[3]);
    to.bias.Add(channel, sums.values[2]);
  }
};

/// Updates the running statistics of a channel with those of a batch.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline void Follow(const RunningStatistics<Dtype>& running, int64_t channel,
                                      Dtype mean, Dtype variance) {
  if (running.mean == nullptr) return;
  running.mean[channel] = running.keep * running.mean[channel] + running.mean_weight * mean;
  running.variance[channel] =
      running.keep * running.variance[channel] + running.variance_weight * variance;
  if (running.count != nullptr && channel == 0) *running.count = running.keep * *running.count + 1;
}

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
               const Dtype* mean, const Dtype* inverse, const AfterNormalizing<Dtype>& after,
               Dtype* y, Dtype* copy) {
  ForChannelsOf<Dtype>(context, shape,
                       EachOf(NormalizedValues<Dtype>{x, mean, inverse, after}, ToBoth{y, copy}));
}

template <typename Dtype>
void NormalizeBatch(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                    Epsilon of, Dtype epsilon, const RunningStatistics<Dtype>& running, Dtype* mean,
                    Dtype* inverse, const AfterNormalizing<Dtype>& after, Dtype* y, Dtype* copy) {
  const RunningStatistics<Dtype> follow = running;
  ForChannelsOf<Dtype>(
      context, shape,
      MomentsOf<Dtype>([=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return x[i]; },
                       [=] LAYRUB_HOST_DEVICE(int64_t channel, Dtype average, Dtype variance) {
                         mean[channel] = average;
                         inverse[channel] = of == Epsilon::kOfVariance
                                                ? 1 / std::sqrt(variance + epsilon)
                                                : 1 / (std::sqrt(variance) + epsilon);
                         Follow(follow, channel, average, variance);
                       }),
      EachOf(NormalizedValues<Dtype>{x, mean, inverse, after}, ToBoth{y, copy}));
}

template <typename Dtype>
void ChannelSums(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                 Dtype* sum) {
  ForChannelsOf<Dtype>(
      context, shape,
      SumOf<Dtype>([=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return x[i]; }, To{sum}));
}

template <typename Dtype>
void ChannelSquares(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                    const Dtype* mean, Dtype* sum) {
  ForChannelsOf<Dtype>(context, shape,
                       SumOf<Dtype>(
                           [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
                             const Dtype deviation = x[i] - mean[channel];
                             return deviation * deviation;
                           },
                           To{sum}));
}

template <typename Dtype>
void FinishStatistics(const DeviceContext& context, int64_t channels, Dtype count, Dtype epsilon,
                      const RunningStatistics<Dtype>& running, const Dtype* mean, Dtype* inverse) {
  const RunningStatistics<Dtype> follow = running;
  ParallelFor(context, channels, [=] LAYRUB_HOST_DEVICE(int64_t channel) {
    const Dtype variance = inverse[channel] / count;
    inverse[channel] = 1 / std::sqrt(variance + epsilon);
    Follow(follow, channel, mean[channel], variance);
  });
}

template <typename Dtype>
void NormalizeBackward(const DeviceContext& context, const ChannelShape& shape,
                       const NormalizedSource<Dtype>& source, const AfterNormalizing<Dtype>& after,
                       const Dtype* dy, const NormalizeGradients<Dtype>& gradients,
                       Dtype* workspace) {
  const GradientSource<Dtype> given{source, after, dy};
  const StoreMeans<Dtype> store{gradients, static_cast<Dtype>(shape.PerChannel()), workspace,
                                workspace + shape.channels};
  const bool all = gradients.scale.sum != nullptr || gradients.bias.sum != nullptr;
  ForChannelsOf<Dtype>(
      context, shape, SumOf<Sums<Dtype, 2>>(GradientSums<Dtype, 2>{given}, store, !all),
      SumOf<Sums<Dtype, 4>>(GradientSums<Dtype, 4>{given}, store, all),
      EachOf(NormalizedGradient<Dtype>{given, store.h, store.product}, To{gradients.dx}));
}

template <typename Dtype>
void NormalizeBackwardSums(const DeviceContext& context, const ChannelShape& shape,
                           const NormalizedSource<Dtype>& source,
                           const AfterNormalizing<Dtype>& after, const Dtype* dy,
                           const NormalizeGradients<Dtype>& gradients, Dtype* sums) {
  ForChannelsOf<Dtype>(
      context, shape,
      SumOf<Sums<Dtype, 4>>(GradientSums<Dtype, 4>{{source, after, dy}},
                            StoreMeans<Dtype>{gradients, 1, sums, sums + shape.channels}));
}

template <typename Dtype>
void NormalizeBackwardFromMeans(const DeviceContext& context, const ChannelShape& shape,
                                const NormalizedSource<Dtype>& source,
                                const AfterNormalizing<Dtype>& after, const Dtype* dy,
                                const Dtype* means, Dtype* dx) {
  ForChannelsOf<Dtype>(
      context, shape,
      EachOf(NormalizedGradient<Dtype>{{source, after, dy}, means, means + shape.channels},
             To{dx}));
}

template <typename Dtype>
void NormalizeBackwardConstant(const DeviceContext& context, const ChannelShape& shape,
                               const NormalizedSource<Dtype>& source,
                               const AfterNormalizing<Dtype>& after, const Dtype* dy,
                               const NormalizeGradients<Dtype>& gradients) {
  const GradientSource<Dtype> given{source, after, dy};
  const NormalizeGradients<Dtype> to = gradients;
  ForChannelsOf<Dtype>(context, shape,
                       SumOf<Sums<Dtype, 4>>(
                           GradientSums<Dtype, 4>{given},
                           [=] LAYRUB_HOST_DEVICE(int64_t channel, const Sums<Dtype, 4>& sums) {
                             to.scale.Add(channel, sums.values[3]);
                             to.bias.Add(channel, sums.values[2]);
                           },
                           to.scale.sum != nullptr || to.bias.sum != nullptr),
                       EachOf(ConstantGradient<Dtype>{given}, To{to.dx}, to.dx != nullptr));
}

#define LAYRUB_INSTANTIATE_BATCH_NORM(Dtype)                                                      \
  template void AverageStatistics(const DeviceContext&, int64_t, const Dtype*, const Dtype*,      \
                                  const Dtype*, Dtype*, Dtype*);                                  \
  template void InverseDeviation(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*);     \
  template void Normalize(const DeviceContext&, const ChannelShape&, const Dtype*, const Dtype*,  \
                          const Dtype*, const AfterNormalizing<Dtype>&, Dtype*, Dtype*);          \
  template void NormalizeBatch(const DeviceContext&, const ChannelShape&, const Dtype*, Epsilon,  \
                               Dtype, const RunningStatistics<Dtype>&, Dtype*, Dtype*,            \
                               const AfterNormalizing<Dtype>&, Dtype*, Dtype*);                   \
  template void ChannelSums(const DeviceContext&, const ChannelShape&, const Dtype*, Dtype*);     \
  template void ChannelSquares(const DeviceContext&, const ChannelShape&, const Dtype*,           \
                               const Dtype*, Dtype*);                                             \
  template void FinishStatistics(const DeviceContext&, int64_t, Dtype, Dtype,                     \
                                 const RunningStatistics<Dtype>&, const Dtype*, Dtype*);          \
  template void NormalizeBackwardSums(                                                            \
      const DeviceContext&, const ChannelShape&, const NormalizedSource<Dtype>&,                  \
      const AfterNormalizing<Dtype>&, const Dtype*, const NormalizeGradients<Dtype>&, Dtype*);    \
  template void NormalizeBackwardFromMeans(                                                       \
      const DeviceContext&, const ChannelShape&, const NormalizedSource<Dtype>&,                  \
      const AfterNormalizing<Dtype>&, const Dtype*, const Dtype*, Dtype*);                        \
  template void NormalizeBackward(const DeviceContext&, const ChannelShape&,                      \
                                  const NormalizedSource<Dtype>&, const AfterNormalizing<Dtype>&, \
                                  const Dtype*, const NormalizeGradients<Dtype>&, Dtype*);        \
  template void NormalizeBackwardConstant(                                                        \
      const DeviceContext&, const ChannelShape&, const NormalizedSource<Dtype>&,                  \
      const AfterNormalizing<Dtype>&, const Dtype*, const NormalizeGradients<Dtype>&)
LAYRUB_INSTANTIATE_BATCH_NORM(float);
LAYRUB_INSTANTIATE_BATCH_NORM(double);
#undef LAYRUB_INSTANTIATE_BATCH_NORM

}  // namespace kernels
}  // namespace caffe
