#include "label_check.hpp"

#include "caffe/pending_reads.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/failure.hpp"

namespace caffe {

void CheckLabels(const DeviceContext& context, const kernels::ScoreShape& shape,
                 const kernels::LabelCounts* counted, const LayerParameter& layer,
                 PendingReads* reads) {
  const auto look = [&layer, shape](const void* copy) {
    const FailureScope scope(layer);
    const auto& counts = *static_cast<const kernels::LabelCounts*>(copy);
    CHECK_EQ(counts.out_of_range, 0)
        << "Layer " << layer.name() << ": " << counts.out_of_range << " of " << counts.counted
        << " labels are not class numbers in 0.." << shape.classes - 1 << ": "
        << (counts.out_of_range > 1 ? "on average " : "") << counts.sum / counts.out_of_range
        << ".";
  };
  PendingReads now;
  (reads ? reads : &now)->Add(context, counted, sizeof(*counted), look);
  now.Look();
}

}  // namespace caffe
