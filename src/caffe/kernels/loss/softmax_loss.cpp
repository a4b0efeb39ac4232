#include "caffe/kernels/loss/softmax_loss.hpp"

#include <cfloat>
#include <cmath>

#include "caffe/kernels/activation/softmax_row.hpp"
#include "caffe/kernels/loss/divisor.hpp"
#include "caffe/kernels/loss/label_class.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void SoftmaxLosses(const DeviceContext& context, const ScoreShape& shape, const Dtype* x,
                   const Dtype* prob, const Labels<Dtype>& labels, const Dtype* class_weights,
                   Dtype* losses) {
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const int64_t label = LabelClass(labels, p, shape.classes);
    if (label < 0) {
      if (team.first == 0) losses[p] = label == kIgnoredLabel ? Dtype(0) : static_cast<Dtype>(NAN);
      return;
    }
    const ScoreRow row = RowAt(shape, p);
    const int64_t at = row.begin + label * row.step;
    const Dtype value = prob != nullptr ? prob[at] : TermsOf(team, x, row).Probability(x[at]);
    // Written so that NaN is kept and a diverged net is noticed.
    const Dtype loss = -std::log(value < FLT_MIN ? static_cast<Dtype>(FLT_MIN) : value);
    if (team.first == 0) losses[p] = class_weights != nullptr ? loss * class_weights[label] : loss;
  });
}

template <typename Dtype>
void SoftmaxLossBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* prob,
                         const Labels<Dtype>& labels, const LossScale<Dtype>& scale,
                         const Dtype* class_weights, Dtype* dx) {
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const int64_t label = LabelClass(labels, p, shape.classes);
    Dtype factor = GradientScale(scale, p);
    if (class_weights != nullptr && label >= 0) factor *= class_weights[label];
    const ScoreRow row = RowAt(shape, p);
    const int64_t at = row.begin + label * row.step;
    const ScoreRow own = OwnPart(team, row);
    for (int64_t i = own.begin; i < own.end; i += own.step) {
      dx[i] = label == kIgnoredLabel ? Dtype(0) : (prob[i] - (i == at ? 1 : 0)) * factor;
    }
  });
}

#define INSTANTIATE(Dtype)                                                                        \
  template void SoftmaxLosses<Dtype>(const DeviceContext&, const ScoreShape&, const Dtype*,       \
                                     const Dtype*, const Labels<Dtype>&, const Dtype*, Dtype*);   \
  template void SoftmaxLossBackward<Dtype>(const DeviceContext&, const ScoreShape&, const Dtype*, \
                                           const Labels<Dtype>&, const LossScale<Dtype>&,         \
                                           const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
