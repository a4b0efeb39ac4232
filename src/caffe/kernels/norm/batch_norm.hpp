#ifndef CAFFE_KERNELS_NORM_BATCH_NORM_HPP_
#define CAFFE_KERNELS_NORM_BATCH_NORM_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/kernels/accumulator.hpp"
#include "caffe/util/channel_shape.hpp"

namespace caffe {
namespace kernels {

// Normalises each channel of an array of a ChannelShape separately.

/// Running statistics, updated by each batch: value = keep * value + weight * batch value, where
/// weight is mean_weight or variance_weight. `count`, a single value, becomes keep * count + 1
/// unless it is null. A null `mean` means that there are no running statistics.
template <typename Dtype>
struct RunningStatistics {
  Dtype keep = 0, mean_weight = 0, variance_weight = 0;
  Dtype* mean = nullptr;
  Dtype* variance = nullptr;
  Dtype* count = nullptr;
};

/// mean and variance = the running sums divided by `count`; zero if that is zero.
template <typename Dtype>
void AverageStatistics(const DeviceContext& context, int64_t channels, const Dtype* mean_sum,
                       const Dtype* variance_sum, const Dtype* count, Dtype* mean, Dtype* variance);

/// inverse = 1 / sqrt(variance + epsilon); may be computed in place.
template <typename Dtype>
void InverseDeviation(const DeviceContext& context, int64_t channels, Dtype epsilon,
                      const Dtype* variance, Dtype* inverse);

/// The steps after the normalisation: y = normalised * scale + bias, with one scale and one bias
/// per channel, then ReluForward. A step is skipped if its pointer is null or its flag false.
template <typename Dtype>
struct AfterNormalizing {
  const Dtype* scale = nullptr;
  const Dtype* bias = nullptr;  ///< must be null if scale is
  bool rectify = false;
  Dtype slope = 0;  ///< slope of the rectifier below zero
};

/// y = (x - mean) * inverse, then applies `after`. `copy`, unless null, receives the normalised
/// values. y or copy may be x.
template <typename Dtype>
void Normalize(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
               const Dtype* mean, const Dtype* inverse, const AfterNormalizing<Dtype>& after,
               Dtype* y, Dtype* copy);

/// How the inverse deviation is computed from a variance.
enum class Epsilon : uint8_t {
  kOfVariance,   ///< 1 / sqrt(variance + epsilon)
  kOfDeviation,  ///< 1 / (sqrt(variance) + epsilon)
};

/// Normalize with the statistics of x, which it computes: `mean` receives each channel's mean and
/// `inverse` its inverse deviation, from the mean squared deviation. Updates `running`.
template <typename Dtype>
void NormalizeBatch(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                    Epsilon of, Dtype epsilon, const RunningStatistics<Dtype>& running, Dtype* mean,
                    Dtype* inverse, const AfterNormalizing<Dtype>& after, Dtype* y, Dtype* copy);

/// Where a backward pass finds the normalised values: either stored (`mean` is null), or recomputed
/// from x.
template <typename Dtype>
struct NormalizedSource {
  const Dtype* values = nullptr;  ///< null if not needed
  const Dtype* mean = nullptr;
  const Dtype* inverse = nullptr;
  /// Positive exactly where the rectifier's input is. If null, that is recomputed from `values`.
  const Dtype* rectified = nullptr;
};

/// The outputs of a backward pass; null pointers are skipped. `scale` and `bias` may be the same
/// sums.
template <typename Dtype>
struct NormalizeGradients {
  Accumulator<Dtype> scale, bias;  ///< one value per channel
  Dtype* dx = nullptr;             ///< may be dy or source.values
};

/// Let g be the derivative of the rectifier's input (dy without a rectifier), and h = g * scale (g
/// without a scale). Adds the sums of g * normalised to `scale` and of g to `bias`, and sets
/// dx = (h - mean(h) - mean(h * normalised) * normalised) * inverse. Means and sums are per
/// channel. `workspace` has 2 * channels values if dx is wanted.
template <typename Dtype>
void NormalizeBackward(const DeviceContext& context, const ChannelShape& shape,
                       const NormalizedSource<Dtype>& source, const AfterNormalizing<Dtype>& after,
                       const Dtype* dy, const NormalizeGradients<Dtype>& gradients,
                       Dtype* workspace);
// The steps of NormalizeBatch and of NormalizeBackward, for a batch whose items are divided among
// devices. In between, the devices add up their sums.

/// sum = the sum of each channel of x.
template <typename Dtype>
void ChannelSums(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                 Dtype* sum);
/// sum = the sum of the squares of x - mean of each channel.
template <typename Dtype>
void ChannelSquares(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                    const Dtype* mean, Dtype* sum);
/// Updates `running`, and replaces the ChannelSquares of `count` values in `inverse` by the inverse
/// deviation.
template <typename Dtype>
void FinishStatistics(const DeviceContext& context, int64_t channels, Dtype count, Dtype epsilon,
                      const RunningStatistics<Dtype>& running, const Dtype* mean, Dtype* inverse);
/// sums = the sums of h of all channels, then those of h * normalised. Adds to `gradients.scale`
/// and `gradients.bias` as NormalizeBackward does.
template <typename Dtype>
void NormalizeBackwardSums(const DeviceContext& context, const ChannelShape& shape,
                           const NormalizedSource<Dtype>& source,
                           const AfterNormalizing<Dtype>& after, const Dtype* dy,
                           const NormalizeGradients<Dtype>& gradients, Dtype* sums);
/// dx as in NormalizeBackward, from the means of h and of h * normalised.
template <typename Dtype>
void NormalizeBackwardFromMeans(const DeviceContext& context, const ChannelShape& shape,
                                const NormalizedSource<Dtype>& source,
                                const AfterNormalizing<Dtype>& after, const Dtype* dy,
                                const Dtype* means, Dtype* dx);

/// NormalizeBackward with constant statistics: dx = h * inverse.
template <typename Dtype>
void NormalizeBackwardConstant(const DeviceContext& context, const ChannelShape& shape,
                               const NormalizedSource<Dtype>& source,
                               const AfterNormalizing<Dtype>& after, const Dtype* dy,
                               const NormalizeGradients<Dtype>& gradients);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_NORM_BATCH_NORM_HPP_
