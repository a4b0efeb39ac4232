#include "caffe/kernels/softmax.hpp"

#include "caffe/kernels/softmax_row.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void SoftmaxForward(const DeviceContext& context, const ScoreShape& shape, const Dtype* x,
                    Dtype* y) {
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const ScoreRow row = RowAt(shape, p);
    const ScoreRow own = OwnPart(team, row);
    const SoftmaxTerms<Dtype> terms = TermsOf(team, x, row);
    for (int64_t i = own.begin; i < own.end; i += own.step) y[i] = terms.Probability(x[i]);
  });
}

template <typename Dtype>
void SoftmaxBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* y,
                     const Dtype* dy, Dtype* dx) {
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const ScoreRow own = OwnPart(team, RowAt(shape, p));
    Dtype dot = 0;
    for (int64_t i = own.begin; i < own.end; i += own.step) dot += dy[i] * y[i];
    dot = team.Sum(dot);
    for (int64_t i = own.begin; i < own.end; i += own.step) dx[i] = (dy[i] - dot) * y[i];
  });
}

#define INSTANTIATE(Dtype)                                                                    \
  template void SoftmaxForward<Dtype>(const DeviceContext&, const ScoreShape&, const Dtype*,  \
                                      Dtype*);                                                \
  template void SoftmaxBackward<Dtype>(const DeviceContext&, const ScoreShape&, const Dtype*, \
                                       const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
