#include "caffe/kernels/math/axpy.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void AxpyRows(const DeviceContext& context, int64_t rows, int64_t length, const Dtype* a,
              const Dtype* x, const Dtype* y, Dtype* f) {
  ParallelForRows(context, rows, length, [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
    const int64_t i = row * length + column;
    f[i] = a[row] * x[i] + y[i];
  });
}

#define INSTANTIATE(Dtype)                                                            \
  template void AxpyRows<Dtype>(const DeviceContext&, int64_t, int64_t, const Dtype*, \
                                const Dtype*, const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
