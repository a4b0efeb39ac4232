#include "caffe/kernels/pooling/upsample.hpp"

#include "caffe/kernels/index_of.hpp"
#include "caffe/kernels/loops.hpp"
#include "caffe/kernels/shape/copy.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void RepeatForward(const DeviceContext& context, int64_t planes, int height, int width, int scale_h,
                   int scale_w, const Dtype* x, Dtype* y) {
  const int64_t columns = int64_t{width} * scale_w;
  // With all planes stacked, row `row` of y is row row / scale_h of x.
  ParallelForRows(context, planes * height * scale_h, columns,
                  [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
                    y[row * columns + column] = x[row / scale_h * width + column / scale_w];
                  });
}

template <typename Dtype>
void RepeatBackward(const DeviceContext& context, int64_t planes, int height, int width,
                    int scale_h, int scale_w, const Dtype* dy, Dtype* dx) {
  const int64_t columns = int64_t{width} * scale_w;
  ParallelForRows(context, planes * height, width,
                  [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
                    const Dtype* from = dy + row * scale_h * columns + column * scale_w;
                    Dtype sum = 0;
                    for (int i = 0; i < scale_h; ++i) {
                      for (int j = 0; j < scale_w; ++j) sum += from[i * columns + j];
                    }
                    dx[row * width + column] = sum;
                  });
}

template <typename Dtype>
void PlaceForward(const DeviceContext& context, int64_t planes, int64_t count, int64_t size,
                  const Dtype* x, const Dtype* mask, Dtype* y) {
  Fill(context, planes * size, Dtype(0), y);
  // Each band of a plane belongs to one thread, which scans the whole mask in order. On a GPU a
  // plane has several bands, to occupy more threads.
  const int64_t bands = context.launch ? 32 : 1;
  const int64_t band = (size + bands - 1) / bands;
  ParallelForHeavy(context, planes * bands, count, [=] LAYRUB_HOST_DEVICE(int64_t item) {
    const int64_t plane = item / bands, begin = item % bands * band;
    const int64_t end = begin + band < size ? begin + band : size;
    Dtype* const to = y + plane * size;
    for (int64_t i = plane * count; i < (plane + 1) * count; ++i) {
      const int64_t place = IndexOf(mask[i], size);
      if (place >= begin && place < end) to[place] = x[i];
    }
  });
}

template <typename Dtype>
void PlaceBackward(const DeviceContext& context, int64_t planes, int64_t count, int64_t size,
                   const Dtype* mask, const Dtype* dy, Dtype* dx) {
  ParallelForRows(context, planes, count, [=] LAYRUB_HOST_DEVICE(int64_t plane, int64_t at) {
    const int64_t i = plane * count + at, place = IndexOf(mask[i], size);
    dx[i] = place < 0 ? Dtype(0) : dy[plane * size + place];
  });
}

#define INSTANTIATE(Dtype)                                                                      \
  template void RepeatForward(const DeviceContext&, int64_t, int, int, int, int, const Dtype*,  \
                              Dtype*);                                                          \
  template void RepeatBackward(const DeviceContext&, int64_t, int, int, int, int, const Dtype*, \
                               Dtype*);                                                         \
  template void PlaceForward(const DeviceContext&, int64_t, int64_t, int64_t, const Dtype*,     \
                             const Dtype*, Dtype*);                                             \
  template void PlaceBackward(const DeviceContext&, int64_t, int64_t, int64_t, const Dtype*,    \
                              const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
