#include "caffe/kernels/labels.hpp"

#include "caffe/kernels/label_class.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/failure.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void CountLabels(const DeviceContext& context, const ScoreShape& shape, const Labels<Dtype>& labels,
                 LabelCounts* counts) {
  const int64_t classes = shape.classes;
  // Row 0 counts the positions that are not ignored, row 1 the bad labels.
  ParallelReduce<double>(
      context, 2, shape.positions(),
      [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t p) -> double {
        const int64_t label = LabelClass(labels, p, classes);
        return row == 0 ? label != kIgnoredLabel : label == kBadLabel;
      },
      [=] LAYRUB_HOST_DEVICE(int64_t row, double sum) {
        (row == 0 ? counts->counted : counts->out_of_range) = sum;
      });
}

void CheckLabels(const DeviceContext& context, const ScoreShape& shape, const LabelCounts* counted,
                 const LayerParameter& layer, PendingReads* reads) {
  const auto look = [&layer, shape](const void* copy) {
    const FailureScope scope(layer);
    const auto& counts = *static_cast<const LabelCounts*>(copy);
    CHECK_EQ(counts.out_of_range, 0)
        << "Layer " << layer.name() << ": " << counts.out_of_range << " of " << counts.counted
        << " labels are no class number in 0.." << shape.classes - 1 << ".";
  };
  PendingReads now;
  (reads ? reads : &now)->Add(context, counted, sizeof(*counted), look);
  now.Look();
}

template void CountLabels<float>(const DeviceContext&, const ScoreShape&, const Labels<float>&,
                                 LabelCounts*);
template void CountLabels<double>(const DeviceContext&, const ScoreShape&, const Labels<double>&,
                                  LabelCounts*);

}  // namespace kernels
}  // namespace caffe
