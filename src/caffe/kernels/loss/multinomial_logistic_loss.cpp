#include "caffe/kernels/loss/multinomial_logistic_loss.hpp"

#include <cmath>

#include "caffe/kernels/activation/softmax_row.hpp"
#include "caffe/kernels/loss/label_class.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void LogisticLosses(const DeviceContext& context, const ScoreShape& shape, Dtype least,
                    const Dtype* prob, const Labels<Dtype>& labels, Dtype* losses) {
  ParallelFor(context, shape.positions(), [=] LAYRUB_HOST_DEVICE(int64_t p) {
    const int64_t label = LabelClass(labels, p, shape.classes);
    const ScoreRow row = RowAt(shape, p);
    const Dtype value = label < 0 ? static_cast<Dtype>(NAN) : prob[row.begin + label * row.step];
    // Written so that NaN is kept.
    losses[p] = -std::log(value < least ? least : value);
  });
}

template <typename Dtype>
void LogisticLossBackward(const DeviceContext& context, const ScoreShape& shape, Dtype least,
                          const Dtype* prob, const Labels<Dtype>& labels, const Dtype* weight,
                          Dtype* dx) {
  const auto positions = static_cast<Dtype>(shape.positions());
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const Dtype scale = -weight[0] / positions;
    const int64_t label = LabelClass(labels, p, shape.classes);
    const ScoreRow row = RowAt(shape, p), own = OwnPart(team, row);
    const int64_t at = row.begin + label * row.step;
    for (int64_t i = own.begin; i < own.end; i += own.step) {
      dx[i] = i != at ? Dtype(0) : scale / (prob[i] < least ? least : prob[i]);
    }
  });
}

#define INSTANTIATE(Dtype)                                                                    \
  template void LogisticLosses<Dtype>(const DeviceContext&, const ScoreShape&, Dtype,         \
                                      const Dtype*, const Labels<Dtype>&, Dtype*);            \
  template void LogisticLossBackward<Dtype>(const DeviceContext&, const ScoreShape&, Dtype,   \
                                            const Dtype*, const Labels<Dtype>&, const Dtype*, \
                                            Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
