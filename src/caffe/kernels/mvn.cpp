#include "caffe/kernels/mvn.hpp"

#include <cmath>

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void InverseDeviationPlus(const DeviceContext& context, int64_t rows, Dtype epsilon,
                          const Dtype* variance, Dtype* inverse) {
  ParallelFor(context, rows, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    inverse[i] = 1 / (std::sqrt(variance[i]) + epsilon);
  });
}

template <typename Dtype>
void SubtractMeans(const DeviceContext& context, int64_t rows, int64_t length, const Dtype* x,
                   Dtype* y, Dtype* means) {
  const Dtype count = static_cast<Dtype>(length);
  ReduceChannels<Dtype>(
      context, 1, rows, length, [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return x[i]; },
      [=] LAYRUB_HOST_DEVICE(int64_t row, Dtype sum) { means[row] = sum / count; });
  ParallelForRows(context, rows, length, [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
    const int64_t i = row * length + column;
    y[i] = x[i] - means[row];
  });
}

#define INSTANTIATE(Dtype)                                                                         \
  template void InverseDeviationPlus<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*,    \
                                            Dtype*);                                               \
  template void SubtractMeans<Dtype>(const DeviceContext&, int64_t, int64_t, const Dtype*, Dtype*, \
                                     Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
