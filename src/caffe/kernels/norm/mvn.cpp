#include "caffe/kernels/norm/mvn.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void SubtractMeans(const DeviceContext& context, int64_t rows, int64_t length, const Dtype* x,
                   Dtype* y, Dtype* means) {
  const Dtype count = static_cast<Dtype>(length);
  ForChannels(
      context, 1, rows, length,
      SumOf<Dtype>([=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return x[i]; },
                   [=] LAYRUB_HOST_DEVICE(int64_t row, Dtype sum) { means[row] = sum / count; }),
      EachOf([=] LAYRUB_HOST_DEVICE(int64_t row, int64_t i) { return x[i] - means[row]; }, To{y}));
}

#define INSTANTIATE(Dtype)                                                                         \
  template void SubtractMeans<Dtype>(const DeviceContext&, int64_t, int64_t, const Dtype*, Dtype*, \
                                     Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
