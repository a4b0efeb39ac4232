#ifndef CAFFE_KERNELS_LOSS_ACCURACY_HPP_
#define CAFFE_KERNELS_LOSS_ACCURACY_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// hits[p] = 1 where fewer than `top_k` other classes have a score as high as the label's, else 0;
/// 0 where the label is ignored or no class.
template <typename Dtype>
void TopKHits(const DeviceContext& context, const ScoreShape& shape, int64_t top_k,
              const Dtype* scores, const Labels<Dtype>& labels, uint8_t* hits);
/// accuracy[0] = hits / positions that are not ignored; 0 when there are none, not a number when a
/// label is no class.
template <typename Dtype>
void MeanAccuracy(const DeviceContext& context, const ScoreShape& shape, const uint8_t* hits,
                  const LabelCounts* counts, Dtype* accuracy);
/// accuracy[c] = hits of class c / positions labelled c; 0 when there are none. `found` is
/// workspace of one value per class. Where it is not null, labelled[c] = positions labelled c.
template <typename Dtype>
void ClassAccuracy(const DeviceContext& context, const ScoreShape& shape, const uint8_t* hits,
                   const Labels<Dtype>& labels, double* found, Dtype* labelled, Dtype* accuracy);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_ACCURACY_HPP_
