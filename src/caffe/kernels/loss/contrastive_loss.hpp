#ifndef CAFFE_KERNELS_LOSS_CONTRASTIVE_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_CONTRASTIVE_LOSS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// Pairs of vectors of `length` values. The loss of a pair at distance d is d^2 if its label,
/// truncated to an integer, is not 0 (similar); else max(margin - d, 0)^2, or max(margin - d^2, 0)
/// if `legacy`.
template <typename Dtype>
struct ContrastivePairs {
  int64_t count;
  int64_t length;
  const Dtype* labels;  ///< one a pair
  Dtype margin;
  bool legacy;
};

/// losses[p] = the loss of pair p of a and b. Also sets `difference` = a - b and squared[p] = d^2,
/// unless they are null.
template <typename Dtype>
void ContrastiveLosses(const DeviceContext& context, const ContrastivePairs<Dtype>& pairs,
                       const Dtype* a, const Dtype* b, Dtype* difference, Dtype* squared,
                       Dtype* losses);
/// da = the derivative of (sum of losses) / (2 * pairs), times weight[0], and db = -da; each may be
/// null. With `b` null, `a` holds the differences and `squared` their d^2. da and db may alias a or
/// b.
template <typename Dtype>
void ContrastiveLossBackward(const DeviceContext& context, const ContrastivePairs<Dtype>& pairs,
                             const Dtype* a, const Dtype* b, const Dtype* squared,
                             const Dtype* weight, Dtype* da, Dtype* db);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_CONTRASTIVE_LOSS_HPP_
