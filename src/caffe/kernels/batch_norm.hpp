#ifndef CAFFE_KERNELS_BATCH_NORM_HPP_
#define CAFFE_KERNELS_BATCH_NORM_HPP_

#include <cstdint>

#include "caffe/kernels/accumulator.hpp"

namespace caffe {
namespace kernels {

/// An array of outer x channels x inner values, of which each channel is normalised on its own.
struct ChannelShape {
  int64_t outer = 0;
  int64_t channels = 0;
  int64_t inner = 0;
  int64_t PerChannel() const { return outer * inner; }
};

/// Values that follow those of batches: value = keep * value + weight * the batch's, the variance
/// by variance_weight. `count`, a single value, unless null: keep * count + 1. Null `mean`: none.
template <typename Dtype>
struct RunningStatistics {
  Dtype keep = 0, mean_weight = 0, variance_weight = 0;
  Dtype* mean = nullptr;
  Dtype* variance = nullptr;
  Dtype* count = nullptr;
};

/// mean and variance = the running sums divided by `count`; zero when that is zero.
template <typename Dtype>
void AverageStatistics(const DeviceContext& context, int64_t channels, const Dtype* mean_sum,
                       const Dtype* variance_sum, const Dtype* count, Dtype* mean, Dtype* variance);

/// inverse = 1 / sqrt(variance + epsilon); may be computed in place.
template <typename Dtype>
void InverseDeviation(const DeviceContext& context, int64_t channels, Dtype epsilon,
                      const Dtype* variance, Dtype* inverse);

/// What follows the normalisation: y = normalised * scale + bias with a value of each for every
/// channel; nothing where `scale` is null.
template <typename Dtype>
struct ChannelAffine {
  const Dtype* scale = nullptr;
  const Dtype* bias = nullptr;
};

/// y = (x - mean) * inverse, then `affine`. `copy`, unless null, receives the normalised values. y
/// or copy may be x.
template <typename Dtype>
void Normalize(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
               const Dtype* mean, const Dtype* inverse, const ChannelAffine<Dtype>& affine,
               Dtype* y, Dtype* copy);

/// How a variance becomes the inverse of a deviation.
enum class Epsilon : uint8_t {
  kOfVariance,   ///< 1 / sqrt(variance + epsilon)
  kOfDeviation,  ///< 1 / (sqrt(variance) + epsilon)
};

/// Normalize with the statistics of x, which it makes: mean = each channel's mean, inverse from its
/// variance, the mean squared deviation from that, which `running` follows.
template <typename Dtype>
void NormalizeBatch(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                    Epsilon of, Dtype epsilon, const RunningStatistics<Dtype>& running, Dtype* mean,
                    Dtype* inverse, const ChannelAffine<Dtype>& affine, Dtype* y, Dtype* copy);

/// The normalised values that a backward needs, as they are stored: those values themselves (`mean`
/// null), or x, from which they are computed again.
template <typename Dtype>
struct NormalizedSource {
  const Dtype* values;
  const Dtype* mean;
  const Dtype* inverse;
};

/// dx = (dy - mean(dy) - mean(dy * normalised) * normalised) * inverse per channel, times `scale`
/// unless that is null. `workspace`: 2 * channels values. dx may be dy or source.values.
template <typename Dtype>
void NormalizeBackward(const DeviceContext& context, const ChannelShape& shape,
                       const NormalizedSource<Dtype>& source, const Dtype* scale, const Dtype* dy,
                       Dtype* dx, Dtype* workspace);
/// The same with constant statistics: dx = dy * inverse, times `scale`. dx may be dy.
template <typename Dtype>
void NormalizeBackwardConstant(const DeviceContext& context, const ChannelShape& shape,
                               const Dtype* inverse, const Dtype* scale, const Dtype* dy,
                               Dtype* dx);
/// Adds the sum of dy * normalised over channel c to dscale[c].
template <typename Dtype>
void NormalizedScaleGradient(const DeviceContext& context, const ChannelShape& shape,
                             const NormalizedSource<Dtype>& source, const Dtype* dy,
                             const Accumulator<Dtype>& dscale);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_BATCH_NORM_HPP_
