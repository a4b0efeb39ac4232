#include "caffe/kernels/loss/euclidean_loss.hpp"

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void EuclideanLossForward(const DeviceContext& context, int64_t n, int64_t samples, const Dtype* a,
                          const Dtype* b, Dtype* loss) {
  ParallelReduce<double>(
      context, 1, n,
      [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) -> double {
        const double difference = a[i] - b[i];
        return difference * difference;
      },
      [=] LAYRUB_HOST_DEVICE(int64_t, double sum) {
        loss[0] = static_cast<Dtype>(sum / 2 / static_cast<double>(samples > 0 ? samples : 1));
      });
}

template <typename Dtype>
void EuclideanLossBackward(const DeviceContext& context, int64_t n, int64_t samples, const Dtype* a,
                           const Dtype* b, const Dtype* weight, Dtype* da, Dtype* db) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype difference = b == nullptr ? a[i] : a[i] - b[i];
    const Dtype gradient = weight[0] / static_cast<Dtype>(samples) * difference;
    if (da != nullptr) da[i] = gradient;
    if (db != nullptr) db[i] = -gradient;
  });
}

#define INSTANTIATE(Dtype)                                                                         \
  template void EuclideanLossForward<Dtype>(const DeviceContext&, int64_t, int64_t, const Dtype*,  \
                                            const Dtype*, Dtype*);                                 \
  template void EuclideanLossBackward<Dtype>(const DeviceContext&, int64_t, int64_t, const Dtype*, \
                                             const Dtype*, const Dtype*, Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
