#include "caffe/kernels/loss/accuracy.hpp"

#include <cmath>

#include "caffe/kernels/activation/softmax_row.hpp"
#include "caffe/kernels/loss/label_class.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void TopKHits(const DeviceContext& context, const ScoreShape& shape, int64_t top_k,
              const Dtype* scores, const Labels<Dtype>& labels, uint8_t* hits) {
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const int64_t label = LabelClass(labels, p, shape.classes);
    if (label < 0) {
      if (team.first == 0) hits[p] = 0;
      return;
    }
    const ScoreRow row = RowAt(shape, p), part = OwnPart(team, row);
    const Dtype own = scores[row.begin + label * row.step];
    // The label's own score is counted too, hence "at most". NaN is never a hit.
    int64_t as_high = 0;
    for (int64_t i = part.begin; i < part.end; i += part.step) as_high += scores[i] >= own;
    as_high = team.Sum(as_high);
    if (team.first == 0) hits[p] = as_high > 0 && as_high <= top_k;
  });
}

template <typename Dtype>
void MeanAccuracy(const DeviceContext& context, const ScoreShape& shape, const uint8_t* hits,
                  const LabelCounts* counts, Dtype* accuracy) {
  ParallelReduce<double>(
      context, 1, shape.positions(),
      [=] LAYRUB_HOST_DEVICE(int64_t, int64_t p) -> double { return hits[p]; },
      [=] LAYRUB_HOST_DEVICE(int64_t, double sum) {
        accuracy[0] = static_cast<Dtype>(counts->out_of_range > 0 ? NAN
                                         : counts->counted > 0    ? sum / counts->counted
                                                                  : 0);
      });
}

template <typename Dtype>
void ClassAccuracy(const DeviceContext& context, const ScoreShape& shape, const uint8_t* hits,
                   const Labels<Dtype>& labels, double* found, Dtype* labelled, Dtype* accuracy) {
  ParallelReduce<double>(
      context, shape.classes, shape.positions(),
      [=] LAYRUB_HOST_DEVICE(int64_t c, int64_t p) -> double {
        return LabelClass(labels, p, shape.classes) == c ? hits[p] : 0;
      },
      [=] LAYRUB_HOST_DEVICE(int64_t c, double sum) { found[c] = sum; });
  ParallelReduce<double>(
      context, shape.classes, shape.positions(),
      [=] LAYRUB_HOST_DEVICE(int64_t c, int64_t p) -> double {
        return LabelClass(labels, p, shape.classes) == c;
      },
      [=] LAYRUB_HOST_DEVICE(int64_t c, double sum) {
        if (labelled != nullptr) labelled[c] = static_cast<Dtype>(sum);
        accuracy[c] = static_cast<Dtype>(sum > 0 ? found[c] / sum : 0);
      });
}

#define INSTANTIATE(Dtype)                                                                      \
  template void TopKHits<Dtype>(const DeviceContext&, const ScoreShape&, int64_t, const Dtype*, \
                                const Labels<Dtype>&, uint8_t*);                                \
  template void MeanAccuracy<Dtype>(const DeviceContext&, const ScoreShape&, const uint8_t*,    \
                                    const LabelCounts*, Dtype*);                                \
  template void ClassAccuracy<Dtype>(const DeviceContext&, const ScoreShape&, const uint8_t*,   \
                                     const Labels<Dtype>&, double*, Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
