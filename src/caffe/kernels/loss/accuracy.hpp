#ifndef CAFFE_KERNELS_LOSS_ACCURACY_HPP_
#define CAFFE_KERNELS_LOSS_ACCURACY_HPP_

#include "caffe/device_context.hpp"
#include "caffe/kernels/loss/labels.hpp"

namespace caffe {
namespace kernels {

/// hits[p] = 1 where fewer than `top_k` other classes have a score as high as the label's, else 0;
/// 0 where the label is ignored or is not a class.
template <typename Dtype>
void TopKHits(const DeviceContext& context, const ScoreShape& shape, int64_t top_k,
              const Dtype* scores, const Labels<Dtype>& labels, uint8_t* hits);
/// accuracy[0] = hits / positions that are not ignored. 0 if there are none; NaN if a label is not
/// a class.
template <typename Dtype>
void MeanAccuracy(const DeviceContext& context, const ScoreShape& shape, const uint8_t* hits,
                  const LabelCounts* counts, Dtype* accuracy);
/// accuracy[c] = hits of class c / positions labelled c; 0 if there are none. `found` is workspace
/// with one value per class. labelled[c] = positions labelled c, unless `labelled` is null.
template <typename Dtype>
void ClassAccuracy(const DeviceContext& context, const ScoreShape& shape, const uint8_t* hits,
                   const Labels<Dtype>& labels, double* found, Dtype* labelled, Dtype* accuracy);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_ACCURACY_HPP_
