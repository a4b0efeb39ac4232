#include "caffe/kernels/loss/hinge_loss.hpp"

#include <cmath>

#include "caffe/kernels/activation/softmax_row.hpp"
#include "caffe/kernels/loss/label_class.hpp"

namespace caffe {
namespace kernels {

namespace {

/// How far a score is on the wrong side of its margin. Keeps NaN.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Excess(Dtype x, bool at_label) {
  const Dtype excess = 1 + (at_label ? -x : x);
  return excess < 0 ? Dtype(0) : excess;
}

}  // namespace

template <typename Dtype>
void HingeLosses(const DeviceContext& context, const ScoreShape& shape, bool squared,
                 const Dtype* x, const Labels<Dtype>& labels, Dtype* losses) {
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const int64_t label = LabelClass(labels, p, shape.classes);
    const ScoreRow row = RowAt(shape, p), own = OwnPart(team, row);
    const int64_t at = row.begin + label * row.step;
    double sum = 0;
    for (int64_t i = own.begin; i < own.end; i += own.step) {
      const double excess = Excess(x[i], i == at);
      sum += squared ? excess * excess : excess;
    }
    sum = team.Sum(sum);
    if (team.first == 0) losses[p] = static_cast<Dtype>(label < 0 ? NAN : sum);
  });
}

template <typename Dtype>
void HingeLossBackward(const DeviceContext& context, const ScoreShape& shape, bool squared,
                       const Dtype* x, const Labels<Dtype>& labels, const Dtype* weight,
                       Dtype* dx) {
  const auto positions = static_cast<Dtype>(shape.positions());
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const Dtype scale = weight[0] / positions;
    const int64_t label = LabelClass(labels, p, shape.classes);
    const ScoreRow row = RowAt(shape, p), own = OwnPart(team, row);
    const int64_t at = row.begin + label * row.step;
    for (int64_t i = own.begin; i < own.end; i += own.step) {
      const Dtype excess = Excess(x[i], i == at);
      const Dtype slope = squared ? 2 * excess : Dtype(excess > 0);
      dx[i] = (i == at ? -scale : scale) * slope;
    }
  });
}

#define INSTANTIATE(Dtype)                                                                      \
  template void HingeLosses<Dtype>(const DeviceContext&, const ScoreShape&, bool, const Dtype*, \
                                   const Labels<Dtype>&, Dtype*);                               \
  template void HingeLossBackward<Dtype>(const DeviceContext&, const ScoreShape&, bool,         \
                                         const Dtype*, const Labels<Dtype>&, const Dtype*,      \
                                         Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
