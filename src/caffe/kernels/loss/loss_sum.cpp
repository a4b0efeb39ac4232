#include "caffe/kernels/loss/loss_sum.hpp"

#include "caffe/kernels/loss/divisor.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void TotalLoss(const DeviceContext& context, int64_t n, const Dtype* losses,
               const Normalizer& normalizer, Dtype* loss) {
  ParallelReduce<double>(
      context, 1, n, [=] LAYRUB_HOST_DEVICE(int64_t, int64_t p) -> double { return losses[p]; },
      [=] LAYRUB_HOST_DEVICE(int64_t, double sum) {
        loss[0] = static_cast<Dtype>(sum / Divisor(normalizer));
      });
}

template <typename Dtype>
void TotalLossBackward(const DeviceContext& context, int64_t n, const Dtype* weight,
                       const Normalizer& normalizer, Dtype* dlosses) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t p) {
    dlosses[p] = GradientScale(weight, normalizer);
  });
}

#define INSTANTIATE(Dtype)                                                                       \
  template void TotalLoss<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Normalizer&, \
                                 Dtype*);                                                        \
  template void TotalLossBackward<Dtype>(const DeviceContext&, int64_t, const Dtype*,            \
                                         const Normalizer&, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
