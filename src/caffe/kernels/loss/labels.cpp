#include "caffe/kernels/loss/labels.hpp"

#include "caffe/kernels/loss/label_class.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void CountLabels(const DeviceContext& context, const ScoreShape& shape, const Labels<Dtype>& labels,
                 LabelCounts* counts) {
  const int64_t classes = shape.classes;
  // Row 0 counts the positions that are not ignored, row 1 the bad labels; row 2 sums the bad
  // labels.
  ParallelReduce<double>(
      context, 3, shape.positions(),
      [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t p) -> double {
        const int64_t label = LabelClass(labels, p, classes);
        if (row == 0) return label != kIgnoredLabel;
        if (label != kBadLabel) return 0;
        return row == 1 ? 1 : static_cast<double>(labels.values[p]);
      },
      [=] LAYRUB_HOST_DEVICE(int64_t row, double sum) {
        (row == 0 ? counts->counted : row == 1 ? counts->out_of_range : counts->sum) = sum;
      });
}

template void CountLabels<float>(const DeviceContext&, const ScoreShape&, const Labels<float>&,
                                 LabelCounts*);
template void CountLabels<double>(const DeviceContext&, const ScoreShape&, const Labels<double>&,
                                  LabelCounts*);

}  // namespace kernels
}  // namespace caffe
