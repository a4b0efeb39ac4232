#include "caffe/kernels/loss/contrastive_loss.hpp"

#include <cmath>

#include "caffe/kernels/teams.hpp"

namespace caffe {
namespace kernels {

namespace {

/// Returns the result to all threads of `team`, after all of them have read their elements.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype SquaredDistance(const Team& team, const Dtype* a, const Dtype* b,
                                         int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t i = begin + team.first; i < end; i += team.step) {
    const double difference = a[i] - b[i];
    sum += difference * difference;
  }
  return static_cast<Dtype>(team.Sum(sum));
}

template <typename Dtype>
LAYRUB_HOST_DEVICE bool Similar(const ContrastivePairs<Dtype>& pairs, int64_t p) {
  return pairs.labels[p] >= 1 || pairs.labels[p] <= -1;
}

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Cost(const ContrastivePairs<Dtype>& pairs, int64_t p, Dtype squared) {
  if (Similar(pairs, p)) return squared;
  const Dtype left = pairs.margin - (pairs.legacy ? squared : std::sqrt(squared));
  if (left < 0) return 0;  // keeps NaN
  return pairs.legacy ? left : left * left;
}

/// Half the derivative of the loss with respect to each difference, as a multiple of the
/// difference.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Slope(const ContrastivePairs<Dtype>& pairs, int64_t p, Dtype squared) {
  if (Similar(pairs, p)) return 1;
  if (pairs.legacy) return squared < pairs.margin ? -1 : 0;
  const Dtype distance = std::sqrt(squared), left = pairs.margin - distance;
  // Caffe's constant, which prevents a division by zero for equal vectors.
  return left > 0 ? -left / (distance + static_cast<Dtype>(1e-4)) : 0;
}

}  // namespace

template <typename Dtype>
void ContrastiveLosses(const DeviceContext& context, const ContrastivePairs<Dtype>& pairs,
                       const Dtype* a, const Dtype* b, Dtype* difference, Dtype* squared,
                       Dtype* losses) {
  const auto body = [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const int64_t begin = p * pairs.length, end = begin + pairs.length;
    const Dtype sum = SquaredDistance(team, a, b, begin, end);
    if (team.first == 0) {
      losses[p] = Cost(pairs, p, sum);
      if (squared != nullptr) squared[p] = sum;
    }
    if (difference == nullptr) return;
    for (int64_t i = begin + team.first; i < end; i += team.step) difference[i] = a[i] - b[i];
  };
  ParallelTeams(context, pairs.count, pairs.length, false, body);
}

template <typename Dtype>
void ContrastiveLossBackward(const DeviceContext& context, const ContrastivePairs<Dtype>& pairs,
                             const Dtype* a, const Dtype* b, const Dtype* squared,
                             const Dtype* weight, Dtype* da, Dtype* db) {
  const auto body = [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const int64_t begin = p * pairs.length, end = begin + pairs.length;
    const Dtype sum = b != nullptr ? SquaredDistance(team, a, b, begin, end) : squared[p];
    const Dtype scale = weight[0] / static_cast<Dtype>(pairs.count) * Slope(pairs, p, sum);
    for (int64_t i = begin + team.first; i < end; i += team.step) {
      const Dtype gradient = scale * (b != nullptr ? a[i] - b[i] : a[i]);
      if (da != nullptr) da[i] = gradient;
      if (db != nullptr) db[i] = -gradient;
    }
  };
  ParallelTeams(context, pairs.count, pairs.length, false, body);
}

#define INSTANTIATE(Dtype)                                                                     \
  template void ContrastiveLosses<Dtype>(const DeviceContext&, const ContrastivePairs<Dtype>&, \
                                         const Dtype*, const Dtype*, Dtype*, Dtype*, Dtype*);  \
  template void ContrastiveLossBackward<Dtype>(                                                \
      const DeviceContext&, const ContrastivePairs<Dtype>&, const Dtype*, const Dtype*,        \
      const Dtype*, const Dtype*, Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
