#include "caffe/kernels/softmax.hpp"

#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/softmax_row.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void SoftmaxForward(const DeviceContext& context, const ScoreShape& shape, const Dtype* x,
                    Dtype* y) {
  ParallelForHeavy(context, shape.positions(), shape.classes, [=] LAYRUB_HOST_DEVICE(int64_t p) {
    const ScoreRow row = RowAt(shape, p);
    const SoftmaxTerms<Dtype> terms = TermsOf(x, row);
    for (int64_t i = row.begin; i < row.end; i += row.step) y[i] = terms.Probability(x[i]);
  });
}

template <typename Dtype>
void SoftmaxBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* y,
                     const Dtype* dy, Dtype* dx) {
  ParallelForHeavy(context, shape.positions(), shape.classes, [=] LAYRUB_HOST_DEVICE(int64_t p) {
    const ScoreRow row = RowAt(shape, p);
    Dtype dot = 0;
    for (int64_t i = row.begin; i < row.end; i += row.step) dot += dy[i] * y[i];
    for (int64_t i = row.begin; i < row.end; i += row.step) dx[i] = (dy[i] - dot) * y[i];
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
