#include "caffe/kernels/activation/threshold.hpp"

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void ThresholdForward(const DeviceContext& context, int64_t n, Dtype threshold, const Dtype* x,
                      Dtype* y) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return x[i] > threshold ? Dtype(1) : Dtype(0); },
      To{y});
}

#define INSTANTIATE(Dtype) \
  template void ThresholdForward<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
