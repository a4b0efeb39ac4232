#ifndef CAFFE_KERNELS_NORM_BATCH_NORM_HPP_
#define CAFFE_KERNELS_NORM_BATCH_NORM_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/kernels/accumulator.hpp"
#include "caffe/util/channel_shape.hpp"

namespace caffe {
namespace kernels {

// Each channel of an array of a ChannelShape is normalised on its own.

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

/// What follows the normalisation: y = normalised * scale + bias, with a value of each for every
/// channel, then ReluForward's. A step is left out where its pointer is null or its flag false.
template <typename Dtype>
struct AfterNormalizing {
  const Dtype* scale = nullptr;
  const Dtype* bias = nullptr;  ///< null without a scale
  bool rectify = false;
  Dtype slope = 0;  ///< of what is below zero
};

/// y = (x - mean) * inverse, then `after`. `copy`, unless null, receives the normalised values. y
/// or copy may be x.
template <typename Dtype>
void Normalize(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
               const Dtype* mean, const Dtype* inverse, const AfterNormalizing<Dtype>& after,
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
                    Dtype* inverse, const AfterNormalizing<Dtype>& after, Dtype* y, Dtype* copy);

/// The normalised values that a backward needs, as they are stored: those values themselves (`mean`
/// null), or x, from which they are computed again.
template <typename Dtype>
struct NormalizedSource {
  const Dtype* values = nullptr;  ///< null: they are not needed
  const Dtype* mean = nullptr;
  const Dtype* inverse = nullptr;
  /// What was rectified is positive where this is; null: it is computed again from the values.
  const Dtype* rectified = nullptr;
};

/// What a backward makes; a null pointer is not wanted. `scale` and `bias` may be the same sums.
template <typename Dtype>
struct NormalizeGradients {
  Accumulator<Dtype> scale, bias;  ///< a value a channel
  Dtype* dx = nullptr;             ///< may be dy or source.values
};

/// With g the derivative of what the rectifier was given, or dy without one: adds the sums of g *
/// normalised to `scale` and of g to `bias`, and with h = g * scale, or g, makes dx = (h - mean(h)
/// - mean(h * normalised) * normalised) * inverse; means and sums are those of a channel.
/// `workspace`: 2 * channels values, if dx is wanted.
template <typename Dtype>
void NormalizeBackward(const DeviceContext& context, const ChannelShape& shape,
                       const NormalizedSource<Dtype>& source, const AfterNormalizing<Dtype>& after,
                       const Dtype* dy, const NormalizeGradients<Dtype>& gradients,
                       Dtype* workspace);
/// The same with constant statistics: dx = h * inverse.
template <typename Dtype>
void NormalizeBackwardConstant(const DeviceContext& context, const ChannelShape& shape,
                               const NormalizedSource<Dtype>& source,
                               const AfterNormalizing<Dtype>& after, const Dtype* dy,
                               const NormalizeGradients<Dtype>& gradients);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_NORM_BATCH_NORM_HPP_
