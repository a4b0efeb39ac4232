#include "caffe/kernels/shape/copy.hpp"

#include <cstring>

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void CopyRows(const DeviceContext& context, int64_t rows, int64_t width, const Dtype* from,
              int64_t from_stride, Dtype* to, int64_t to_stride) {
  if (context.launch || rows == 1) {
    ParallelForRows(context, rows, width, [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t i) {
      to[row * to_stride + i] = from[row * from_stride + i];
    });
    return;
  }
  ParallelForHeavy(context, rows, width, [=] LAYRUB_HOST_DEVICE(int64_t row) {
    memcpy(to + row * to_stride, from + row * from_stride, width * sizeof(Dtype));
  });
}

template <typename Dtype>
void Copy(const DeviceContext& context, int64_t n, const Dtype* from, Dtype* to) {
  if (from == to) return;
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return from[i]; }, To{to});
}

template <typename Dtype>
void Fill(const DeviceContext& context, int64_t n, Dtype value, Dtype* to) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t) { return value; }, To{to});
}

template <typename Dtype>
void CopyFromHost(const DeviceContext& context, int64_t n, const Dtype* from, Dtype* to) {
  if (context.gpu) {
    CopyBytes(context, to, from, n * sizeof(Dtype));
  } else {
    Copy(context, n, from, to);
  }
}

#define INSTANTIATE(Dtype)                                                                     \
  template void CopyRows<Dtype>(const DeviceContext&, int64_t, int64_t, const Dtype*, int64_t, \
                                Dtype*, int64_t);                                              \
  template void Copy<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);              \
  template void Fill<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype*);                     \
  template void CopyFromHost<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
