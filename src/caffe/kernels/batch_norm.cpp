#include "caffe/kernels/batch_norm.hpp"

#include <cmath>

#include "caffe/kernels/loops.hpp"
#include "caffe/kernels/rectifier.hpp"

namespace caffe {
namespace kernels {
namespace {

/// One normalised value. Every form goes through this expression, so that all give the same bits.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline Dtype Normalized(Dtype x, Dtype mean, Dtype inverse) {
  return (x - mean) * inverse;
}

/// What a value of one channel becomes, and the normalised value. A step that is left out has the
/// constants that change no bit: x * 1, x + -0.
template <typename Dtype>
struct NormalizedChannel {
  const Dtype* x;
  Dtype mean, inverse;
  Dtype scale = 1, bias = -Dtype(0), slope = 1;

  LAYRUB_HOST_DEVICE NormalizedChannel(const Dtype* values, const Dtype* means,
                                       const Dtype* inverses, const AfterNormalizing<Dtype>& after,
                                       int64_t channel)
      : x(values), mean(means[channel]), inverse(inverses[channel]) {
    if (after.scale != nullptr) scale = after.scale[channel];
    if (after.bias != nullptr) bias = after.bias[channel];
    if (after.rectify) slope = after.slope;
  }

  LAYRUB_HOST_DEVICE ValueAndCopy<Dtype> operator()(int64_t i) const {
    const Dtype value = Normalized(x[i], mean, inverse);
    return {Relu(value * scale + bias, slope), value};
  }
};

/// What a backward has of an element.
template <typename Dtype>
struct ElementGradient {
  Dtype normalised;
  Dtype g;  ///< the derivative of what the rectifier was given
  Dtype h;  ///< that of the normalised value before means are subtracted
};

/// ElementGradient of the elements of one channel. A step that is left out has the constants that
/// change no bit of what is used.
template <typename Dtype>
struct ChannelGradient {
  const Dtype* values;
  const Dtype* dy;
  Dtype mean = 0, inverse = 1;  // make normalised values of `values`
  Dtype factor = 1, bias = 0;   // and of those something as positive as what was rectified
  Dtype slope = 1, scale = 1;

  LAYRUB_HOST_DEVICE ChannelGradient(const NormalizedSource<Dtype>& source,
                                     const AfterNormalizing<Dtype>& after, const Dtype* gradient,
                                     int64_t channel)
      : values(source.values), dy(gradient) {
    if (source.mean != nullptr) {
      mean = source.mean[channel];
      inverse = source.inverse[channel];
    }
    if (after.scale != nullptr) scale = after.scale[channel];
    if (after.rectify) slope = after.slope;
    if (source.rectified != nullptr) {
      values = source.rectified;
    } else {
      factor = scale;
      if (after.bias != nullptr) bias = after.bias[channel];
    }
    if (values == nullptr) values = dy;  // nothing that is wanted depends on them
  }

  LAYRUB_HOST_DEVICE ElementGradient<Dtype> operator()(int64_t i) const {
    const Dtype normalised = Normalized(values[i], mean, inverse);
    const Dtype g = ReluGradient(normalised * factor + bias > 0, slope, dy[i]);
    return {normalised, g, g * scale};
  }
};

/// The sums that a backward wants of a channel.
template <typename Dtype, int kSums>
struct GradientSums {
  ChannelGradient<Dtype> gradient;
  LAYRUB_HOST_DEVICE Sums<Dtype, kSums> operator()(int64_t i) const {
    const ElementGradient<Dtype> of = gradient(i);
    if constexpr (kSums == 2) {
      return {{of.h, of.h * of.normalised}};
    } else {
      return {{of.h, of.h * of.normalised, of.g, of.g * of.normalised}};
    }
  }
};

/// dx of a channel.
template <typename Dtype>
struct NormalizedGradient {
  ChannelGradient<Dtype> gradient;
  Dtype mean_h, mean_product, inverse;
  LAYRUB_HOST_DEVICE Dtype operator()(int64_t i) const {
    const ElementGradient<Dtype> of = gradient(i);
    return (of.h - mean_h - mean_product * of.normalised) * inverse;
  }
};
template <typename Dtype>
struct ConstantGradient {
  ChannelGradient<Dtype> gradient;
  Dtype inverse;
  LAYRUB_HOST_DEVICE Dtype operator()(int64_t i) const { return gradient(i).h * inverse; }
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
               const Dtype* mean, const Dtype* inverse, const AfterNormalizing<Dtype>& after,
               Dtype* y, Dtype* copy) {
  const AfterNormalizing<Dtype> then = after;
  ForChannels(context, shape.outer, shape.channels, shape.inner,
              EachOf(
                  [=] LAYRUB_HOST_DEVICE(int64_t channel) {
                    return NormalizedChannel<Dtype>(x, mean, inverse, then, channel);
                  },
                  ToBoth{y, copy}));
}

template <typename Dtype>
void NormalizeBatch(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                    Epsilon of, Dtype epsilon, const RunningStatistics<Dtype>& running, Dtype* mean,
                    Dtype* inverse, const AfterNormalizing<Dtype>& after, Dtype* y, Dtype* copy) {
  const RunningStatistics<Dtype> follow = running;
  const AfterNormalizing<Dtype> then = after;
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
          [=] LAYRUB_HOST_DEVICE(int64_t channel) {
            return NormalizedChannel<Dtype>(x, mean, inverse, then, channel);
          },
          ToBoth{y, copy}));
}

template <typename Dtype>
void NormalizeBackward(const DeviceContext& context, const ChannelShape& shape,
                       const NormalizedSource<Dtype>& source, const AfterNormalizing<Dtype>& after,
                       const Dtype* dy, const NormalizeGradients<Dtype>& gradients,
                       Dtype* workspace) {
  const NormalizedSource<Dtype> stored = source;
  const AfterNormalizing<Dtype> then = after;
  const NormalizeGradients<Dtype> to = gradients;
  const Dtype count = static_cast<Dtype>(shape.PerChannel());
  Dtype* const mean_h = workspace;
  Dtype* const mean_product = workspace + shape.channels;
  const auto dx = EachOf(
      [=] LAYRUB_HOST_DEVICE(int64_t channel) {
        return NormalizedGradient<Dtype>{{stored, then, dy, channel},
                                         mean_h[channel],
                                         mean_product[channel],
                                         stored.inverse[channel]};
      },
      To{to.dx});
  const bool all = to.scale.sum != nullptr || to.bias.sum != nullptr;
  ForChannels(context, shape.outer, shape.channels, shape.inner,
              SumOf<Sums<Dtype, 2>>(
                  [=] LAYRUB_HOST_DEVICE(int64_t channel) {
                    return GradientSums<Dtype, 2>{{stored, then, dy, channel}};
                  },
                  [=] LAYRUB_HOST_DEVICE(int64_t channel, const Sums<Dtype, 2>& sums) {
                    mean_h[channel] = sums.values[0] / count;
                    mean_product[channel] = sums.values[1] / count;
                  },
                  !all),
              SumOf<Sums<Dtype, 4>>(
                  [=] LAYRUB_HOST_DEVICE(int64_t channel) {
                    return GradientSums<Dtype, 4>{{stored, then, dy, channel}};
                  },
                  [=] LAYRUB_HOST_DEVICE(int64_t channel, const Sums<Dtype, 4>& sums) {
                    mean_h[channel] = sums.values[0] / count;
                    mean_product[channel] = sums.values[1] / count;
                    to.scale.Add(channel, sums.values[3]);
                    to.bias.Add(channel, sums.values[2]);
                  },
                  all),
              dx);
}

template <typename Dtype>
void NormalizeBackwardConstant(const DeviceContext& context, const ChannelShape& shape,
                               const NormalizedSource<Dtype>& source,
                               const AfterNormalizing<Dtype>& after, const Dtype* dy,
                               const NormalizeGradients<Dtype>& gradients) {
  const NormalizedSource<Dtype> stored = source;
  const AfterNormalizing<Dtype> then = after;
  const NormalizeGradients<Dtype> to = gradients;
  ForChannels(
      context, shape.outer, shape.channels, shape.inner,
      SumOf<Sums<Dtype, 4>>(
          [=] LAYRUB_HOST_DEVICE(int64_t channel) {
            return GradientSums<Dtype, 4>{{stored, then, dy, channel}};
          },
          [=] LAYRUB_HOST_DEVICE(int64_t channel, const Sums<Dtype, 4>& sums) {
            to.scale.Add(channel, sums.values[3]);
            to.bias.Add(channel, sums.values[2]);
          },
          to.scale.sum != nullptr || to.bias.sum != nullptr),
      EachOf(
          [=] LAYRUB_HOST_DEVICE(int64_t channel) {
            return ConstantGradient<Dtype>{{stored, then, dy, channel}, stored.inverse[channel]};
          },
          To{to.dx}, to.dx != nullptr));
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
