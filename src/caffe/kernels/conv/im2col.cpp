#include "caffe/kernels/conv/im2col.hpp"

#include "caffe/kernels/loops.hpp"
#include "caffe/kernels/spans.hpp"

namespace caffe {
namespace kernels {

int64_t OutputDim(int64_t image, int64_t kernel, int64_t pad, int64_t stride, int64_t dilation) {
  return (image + 2 * pad - (dilation * (kernel - 1) + 1)) / stride + 1;
}

template <typename Dtype>
void Im2col(const DeviceContext& context, const SlidingWindow& window, const Dtype* image,
            Dtype* columns) {
  const SlidingWindow w = window;
  const auto segment = [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
    const int out_y = static_cast<int>(row % w.output[0]);
    const int64_t tap = row / w.output[0];
    const int kernel_x = static_cast<int>(tap % w.kernel[1]);
    const int kernel_y = static_cast<int>(tap / w.kernel[1] % w.kernel[0]);
    const int64_t channel = tap / w.kernel[1] / w.kernel[0];
    const int y = out_y * w.stride[0] - w.pad[0] + kernel_y * w.dilation[0];
    const int offset = kernel_x * w.dilation[1] - w.pad[1];
    Dtype* out = columns + row * w.output[1];
    Span inside = InsideImage(offset, w.stride[1], 0, w.image[1], begin, end);
    if (y < 0 || y >= w.image[0]) inside = {end, end};
    const int64_t in = (channel * w.image[0] + y) * w.image[1] + offset;
    for (int x = begin; x < inside.begin; ++x) out[x] = 0;
    if (w.stride[1] == 1) {
      for (int x = inside.begin; x < inside.end; ++x) out[x] = image[in + x];
    } else {
      for (int x = inside.begin; x < inside.end; ++x) out[x] = image[in + x * w.stride[1]];
    }
    for (int x = inside.end; x < end; ++x) out[x] = 0;
  };
  ParallelForSegments(context, w.channels * w.KernelSize() * w.output[0], w.output[1], w.output[1],
                      segment);
}

template <typename Dtype>
void Col2im(const DeviceContext& context, const SlidingWindow& window, const Dtype* columns,
            Dtype* image) {
  const SlidingWindow w = window;
  // Each item sums its own segment of an image row, adding the taps in a fixed order.
  const auto segment = [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
    const int y = static_cast<int>(row % w.image[0]);
    const int64_t channel = row / w.image[0];
    Dtype* out = image + row * w.image[1];
    for (int x = begin; x < end; ++x) out[x] = 0;
    for (int kernel_y = 0; kernel_y < w.kernel[0]; ++kernel_y) {
      const int from = y + w.pad[0] - kernel_y * w.dilation[0];
      if (from < 0 || from % w.stride[0] != 0 || from / w.stride[0] >= w.output[0]) continue;
      for (int kernel_x = 0; kernel_x < w.kernel[1]; ++kernel_x) {
        const int64_t tap = (channel * w.kernel[0] + kernel_y) * w.kernel[1] + kernel_x;
        const Dtype* in = columns + (tap * w.output[0] + from / w.stride[0]) * w.output[1];
        const int offset = kernel_x * w.dilation[1] - w.pad[1];
        const Span inside = InsideImage(offset, w.stride[1], begin, end, 0, w.output[1]);
        if (w.stride[1] == 1) {
          for (int x = inside.begin; x < inside.end; ++x) out[x + offset] += in[x];
        } else {
          for (int x = inside.begin; x < inside.end; ++x) out[x * w.stride[1] + offset] += in[x];
        }
      }
    }
  };
  ParallelForSegments(context, int64_t{w.channels} * w.image[0], w.image[1],
                      w.image[1] * w.KernelSize(), segment);
}

template <typename Dtype>
void Im2colNd(const DeviceContext& context, const SlidingWindow& window, const Dtype* image,
              Dtype* columns) {
  const SlidingWindow w = window;
  const int64_t output_size = w.OutputSize(), kernel_size = w.KernelSize(),
                image_size = w.ImageSize();
  ParallelFor(context, w.ColumnCount(), [=] LAYRUB_HOST_DEVICE(int64_t i) {
    int64_t position = i % output_size;
    int64_t tap = i / output_size % kernel_size;
    const int64_t channel = i / output_size / kernel_size;
    int64_t source = 0, step = 1;
    bool inside = true;
    for (int axis = w.axes - 1; axis >= 0; --axis) {
      const int64_t at = position % w.output[axis] * w.stride[axis] - w.pad[axis] +
                         tap % w.kernel[axis] * w.dilation[axis];
      position /= w.output[axis];
      tap /= w.kernel[axis];
      inside = inside && at >= 0 && at < w.image[axis];
      source += at * step;
      step *= w.image[axis];
    }
    columns[i] = inside ? image[channel * image_size + source] : Dtype(0);
  });
}

template <typename Dtype>
void Col2imNd(const DeviceContext& context, const SlidingWindow& window, const Dtype* columns,
              Dtype* image) {
  const SlidingWindow w = window;
  const int64_t output_size = w.OutputSize(), kernel_size = w.KernelSize(),
                image_size = w.ImageSize();
  ParallelForHeavy(
      context, w.channels * image_size, kernel_size, [=] LAYRUB_HOST_DEVICE(int64_t i) {
        const int64_t channel = i / image_size;
        Dtype sum = 0;
        for (int64_t k = 0; k < kernel_size; ++k) {
          int64_t pixel = i % image_size, tap = k, source = 0, step = 1;
          bool inside = true;
          for (int axis = w.axes - 1; axis >= 0; --axis) {
            const int64_t from =
                pixel % w.image[axis] + w.pad[axis] - tap % w.kernel[axis] * w.dilation[axis];
            pixel /= w.image[axis];
            tap /= w.kernel[axis];
            inside = inside && from >= 0 && from % w.stride[axis] == 0 &&
                     from / w.stride[axis] < w.output[axis];
            source += from / w.stride[axis] * step;
            step *= w.output[axis];
          }
          if (inside) sum += columns[(channel * kernel_size + k) * output_size + source];
        }
        image[i] = sum;
      });
}

#define LAYRUB_INSTANTIATE_IM2COL(Dtype)                                                    \
  template void Im2col(const DeviceContext&, const SlidingWindow&, const Dtype*, Dtype*);   \
  template void Col2im(const DeviceContext&, const SlidingWindow&, const Dtype*, Dtype*);   \
  template void Im2colNd(const DeviceContext&, const SlidingWindow&, const Dtype*, Dtype*); \
  template void Col2imNd(const DeviceContext&, const SlidingWindow&, const Dtype*, Dtype*)
LAYRUB_INSTANTIATE_IM2COL(float);
LAYRUB_INSTANTIATE_IM2COL(double);
#undef LAYRUB_INSTANTIATE_IM2COL

}  // namespace kernels
}  // namespace caffe
