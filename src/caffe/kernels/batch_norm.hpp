#ifndef CAFFE_KERNELS_BATCH_NORM_HPP_
#define CAFFE_KERNELS_BATCH_NORM_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// An array of outer x channels x inner values, of which each channel is normalised on its own.
struct ChannelShape {
  int64_t outer = 0;
  int64_t channels = 0;
  int64_t inner = 0;
  int64_t PerChannel() const { return outer * inner; }
};

/// mean = each channel's mean, variance = its mean squared deviation from that.
template <typename Dtype>
void ChannelStatistics(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                       Dtype* mean, Dtype* variance);

/// Adds a batch to running sums: sum = fraction * sum + batch value; the variance by its unbiased
/// estimate, `count`, a single value, by 1.
template <typename Dtype>
void AccumulateStatistics(const DeviceContext& context, const ChannelShape& shape, Dtype fraction,
                          const Dtype* mean, const Dtype* variance, Dtype* mean_sum,
                          Dtype* variance_sum, Dtype* count);
/// mean and variance = the running sums divided by `count`; zero when that is zero.
template <typename Dtype>
void AverageStatistics(const DeviceContext& context, int64_t channels, const Dtype* mean_sum,
                       const Dtype* variance_sum, const Dtype* count, Dtype* mean, Dtype* variance);

/// Moves running values towards a batch's: running = momentum * running + (1 - momentum) * batch.
template <typename Dtype>
void MoveStatistics(const DeviceContext& context, int64_t channels, Dtype momentum,
                    const Dtype* mean, const Dtype* variance, Dtype* running_mean,
                    Dtype* running_variance);

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
/// dscale[c] += the sum of dy * normalised over channel c.
template <typename Dtype>
void NormalizedScaleGradient(const DeviceContext& context, const ChannelShape& shape,
                             const NormalizedSource<Dtype>& source, const Dtype* dy, Dtype* dscale);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_BATCH_NORM_HPP_
