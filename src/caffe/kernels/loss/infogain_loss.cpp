#include "caffe/kernels/loss/infogain_loss.hpp"

#include <cmath>

#include "caffe/kernels/activation/softmax_row.hpp"
#include "caffe/kernels/loss/divisor.hpp"
#include "caffe/kernels/loss/label_class.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void InfogainLosses(const DeviceContext& context, const ScoreShape& shape, Dtype least,
                    const Dtype* x, const Dtype* prob, const Labels<Dtype>& labels,
                    const Dtype* gain, Dtype* losses) {
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const int64_t label = LabelClass(labels, p, shape.classes);
    if (label < 0) {
      if (team.first == 0) losses[p] = label == kIgnoredLabel ? Dtype(0) : static_cast<Dtype>(NAN);
      return;
    }
    const ScoreRow row = RowAt(shape, p);
    const SoftmaxTerms<Dtype> terms =
        prob != nullptr ? SoftmaxTerms<Dtype>{0, 1} : TermsOf(team, x, row);
    const Dtype* const weights = gain + label * shape.classes;
    double sum = 0;
    for (int64_t c = team.first; c < shape.classes; c += team.step) {
      const int64_t i = row.begin + c * row.step;
      const Dtype value = prob != nullptr ? prob[i] : terms.Probability(x[i]);
      // Written so that NaN is kept.
      sum += static_cast<double>(weights[c] * std::log(value < least ? least : value));
    }
    sum = team.Sum(sum);
    if (team.first == 0) losses[p] = static_cast<Dtype>(-sum);
  });
}

template <typename Dtype>
void InfogainLossBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* prob,
                          const Labels<Dtype>& labels, const Dtype* gain,
                          const LossScale<Dtype>& scale, Dtype* dx) {
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const int64_t label = LabelClass(labels, p, shape.classes);
    const ScoreRow row = RowAt(shape, p), own = OwnPart(team, row);
    if (label < 0) {
      const Dtype none = label == kIgnoredLabel ? Dtype(0) : static_cast<Dtype>(NAN);
      for (int64_t i = own.begin; i < own.end; i += own.step) dx[i] = none;
      return;
    }
    const Dtype* const weights = gain + label * shape.classes;
    double sum = 0;
    for (int64_t c = team.first; c < shape.classes; c += team.step) sum += weights[c];
    const Dtype total = static_cast<Dtype>(team.Sum(sum));
    const Dtype factor = GradientScale(scale, p);
    for (int64_t c = team.first; c < shape.classes; c += team.step) {
      const int64_t i = row.begin + c * row.step;
      dx[i] = (prob[i] * total - weights[c]) * factor;
    }
  });
}

#define INSTANTIATE(Dtype)                                                                         \
  template void InfogainLosses<Dtype>(const DeviceContext&, const ScoreShape&, Dtype,              \
                                      const Dtype*, const Dtype*, const Labels<Dtype>&,            \
                                      const Dtype*, Dtype*);                                       \
  template void InfogainLossBackward<Dtype>(const DeviceContext&, const ScoreShape&, const Dtype*, \
                                            const Labels<Dtype>&, const Dtype*,                    \
                                            const LossScale<Dtype>&, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
