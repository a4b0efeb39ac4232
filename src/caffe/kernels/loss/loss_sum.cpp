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

#define INSTANTIATE(Dtype)                                                                       \
  template void TotalLoss<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Normalizer&, \
                                 Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
