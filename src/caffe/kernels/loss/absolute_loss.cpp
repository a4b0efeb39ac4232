#include "caffe/kernels/loss/absolute_loss.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
namespace {

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype WeightAt(const Dtype* weights, int64_t i) {
  return weights == nullptr ? Dtype(1) : weights[i];
}

}  // namespace

template <typename Dtype>
void AbsoluteLossForward(const DeviceContext& context, const AbsoluteLoss<Dtype>& loss,
                         Dtype* sum) {
  const AbsoluteLoss<Dtype> l = loss;
  ParallelReduce<double>(
      context, 1, l.n,
      [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) -> double {
        const double bend = l.bend;
        const double distance = std::fabs(WeightAt(l.inner, i) * (l.a[i] - l.b[i]));
        const double value =
            distance < bend ? distance * distance / (2 * bend) : distance - bend / 2;
        return WeightAt(l.outer, i) * value;
      },
      [=] LAYRUB_HOST_DEVICE(int64_t, double total) {
        sum[0] = static_cast<Dtype>(total / static_cast<double>(l.samples > 0 ? l.samples : 1));
      });
}

template <typename Dtype>
void AbsoluteLossBackward(const DeviceContext& context, const AbsoluteLoss<Dtype>& loss,
                          const Dtype* weight, Dtype* da, Dtype* db) {
  const AbsoluteLoss<Dtype> l = loss;
  ParallelFor(context, l.n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype inner = WeightAt(l.inner, i), outer = WeightAt(l.outer, i);
    const Dtype d = inner * (l.a[i] - l.b[i]);
    const Dtype slope = std::fabs(d) < l.bend ? d / l.bend : static_cast<Dtype>((d > 0) - (d < 0));
    const Dtype gradient = weight[0] / static_cast<Dtype>(l.samples) * outer * inner * slope;
    if (da != nullptr) da[i] = gradient;
    if (db != nullptr) db[i] = -gradient;
  });
}

#define INSTANTIATE(Dtype)                                                                    \
  template void AbsoluteLossForward<Dtype>(const DeviceContext&, const AbsoluteLoss<Dtype>&,  \
                                           Dtype*);                                           \
  template void AbsoluteLossBackward<Dtype>(const DeviceContext&, const AbsoluteLoss<Dtype>&, \
                                            const Dtype*, Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
