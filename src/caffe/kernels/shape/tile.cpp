#include "caffe/kernels/shape/tile.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void TileForward(const DeviceContext& context, int64_t rows, int64_t width, int64_t tiles,
                 const Dtype* x, Dtype* y) {
  ParallelForRows(context, rows * tiles, width, [=] LAYRUB_HOST_DEVICE(int64_t tile, int64_t i) {
    y[tile * width + i] = x[tile / tiles * width + i];
  });
}

template <typename Dtype>
void TileBackward(const DeviceContext& context, int64_t rows, int64_t width, int64_t tiles,
                  const Dtype* dy, Dtype* dx) {
  ParallelForRows(context, rows, width, [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t i) {
    Dtype sum = 0;
    for (int64_t t = 0; t < tiles; ++t) sum += dy[(row * tiles + t) * width + i];
    dx[row * width + i] = sum;
  });
}

#define INSTANTIATE(Dtype)                                                                 \
  template void TileForward(const DeviceContext&, int64_t, int64_t, int64_t, const Dtype*, \
                            Dtype*);                                                       \
  template void TileBackward(const DeviceContext&, int64_t, int64_t, int64_t, const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
