#ifndef CAFFE_LAYERS_LOSS_LABEL_CHECK_HPP_
#define CAFFE_LAYERS_LOSS_LABEL_CHECK_HPP_

#include "caffe/kernels/loss/labels.hpp"

namespace caffe {

class LayerParameter;
class PendingReads;

/// Fails, naming `layer`, if labels are out of range: at once if `reads` is null, else when the
/// reads are examined. `layer` must live until then.
void CheckLabels(const DeviceContext& context, const kernels::ScoreShape& shape,
                 const kernels::LabelCounts* counts, const LayerParameter& layer,
                 PendingReads* reads);

}  // namespace caffe

#endif  // CAFFE_LAYERS_LOSS_LABEL_CHECK_HPP_
