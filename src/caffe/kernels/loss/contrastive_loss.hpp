#ifndef CAFFE_KERNELS_LOSS_CONTRASTIVE_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_CONTRASTIVE_LOSS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// Pairs of vectors of `length` values, and what their distances d cost: d^2 where the label, cut
/// to a whole number, is not 0 (similar), else max(margin - d, 0)^2, or max(margin - d^2, 0) with
/// `legacy`.
template <typename Dtype>
struct ContrastivePairs {
  int64_t count;
  int64_t length;
  const Dtype* labels;  ///< one a pair
  Dtype margin;
  bool legacy;
};

/// losses[p] = what pair p of a and b costs. Where they are not null, `difference` = a - b and
/// squared[p] = d^2.
template <typename Dtype>
void ContrastiveLosses(const DeviceContext& context, const ContrastivePairs<Dtype>& pairs,
                       const Dtype* a, const Dtype* b, Dtype* difference, Dtype* squared,
                       Dtype* losses);
/// da = derivative of the sum of costs / (2 * pairs) * weight[0] and db = -da, where they are not
/// null. With `b` null, `a` holds the differences and `squared` their d^2. da and db may lie on a
/// or b.
template <typename Dtype>
void ContrastiveLossBackward(const DeviceContext& context, const ContrastivePairs<Dtype>& pairs,
                             const Dtype* a, const Dtype* b, const Dtype* squared,
                             const Dtype* weight, Dtype* da, Dtype* db);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_CONTRASTIVE_LOSS_HPP_
