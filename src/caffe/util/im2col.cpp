#include "caffe/util/im2col.hpp"

#include <algorithm>
#include <vector>

#include "caffe/kernels/conv/im2col.hpp"
#include "caffe/kernels/on_device.hpp"

namespace caffe {
namespace {

using kernels::SlidingWindow;

SlidingWindow PlaneWindow(int channels, int height, int width, int kernel_h, int kernel_w,
                          int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                          int dilation_w) {
  const auto output = [](int image, int kernel, int pad, int stride, int dilation) {
    return static_cast<int>(kernels::OutputDim(image, kernel, pad, stride, dilation));
  };
  return {2,
          channels,
          {height, width},
          {output(height, kernel_h, pad_h, stride_h, dilation_h),
           output(width, kernel_w, pad_w, stride_w, dilation_w)},
          {kernel_h, kernel_w},
          {pad_h, pad_w},
          {stride_h, stride_w},
          {dilation_h, dilation_w}};
}

SlidingWindow GeneralWindow(int axes, const int* image, const int* columns, const int* kernel,
                            const int* pad, const int* stride, const int* dilation) {
  CHECK_LE(axes, kernels::kMaxSpatialAxes) << "too many spatial axes";
  SlidingWindow window;
  window.axes = axes;
  window.channels = image[0];
  std::copy_n(image + 1, axes, window.image);
  std::copy_n(columns + 1, axes, window.output);
  std::copy_n(kernel, axes, window.kernel);
  std::copy_n(pad, axes, window.pad);
  std::copy_n(stride, axes, window.stride);
  std::copy_n(dilation, axes, window.dilation);
  return window;
}

}  // namespace

template <typename Dtype>
void im2col_nd_cpu(const Dtype* data_im, const int num_spatial_axes, const int* im_shape,
                   const int* col_shape, const int* kernel_shape, const int* pad, const int* stride,
                   const int* dilation, Dtype* data_col) {
  kernels::Im2colNd(
      DeviceContext(),
      GeneralWindow(num_spatial_axes, im_shape, col_shape, kernel_shape, pad, stride, dilation),
      data_im, data_col);
}

template <typename Dtype>
void im2col_cpu(const Dtype* data_im, const int channels, const int height, const int width,
                const int kernel_h, const int kernel_w, const int pad_h, const int pad_w,
                const int stride_h, const int stride_w, const int dilation_h, const int dilation_w,
                Dtype* data_col) {
  kernels::Im2col(DeviceContext(),
                  PlaneWindow(channels, height, width, kernel_h, kernel_w, pad_h, pad_w, stride_h,
                              stride_w, dilation_h, dilation_w),
                  data_im, data_col);
}

template <typename Dtype>
void col2im_nd_cpu(const Dtype* data_col, const int num_spatial_axes, const int* im_shape,
                   const int* col_shape, const int* kernel_shape, const int* pad, const int* stride,
                   const int* dilation, Dtype* data_im) {
  kernels::Col2imNd(
      DeviceContext(),
      GeneralWindow(num_spatial_axes, im_shape, col_shape, kernel_shape, pad, stride, dilation),
      data_col, data_im);
}

template <typename Dtype>
void col2im_cpu(const Dtype* data_col, const int channels, const int height, const int width,
                const int kernel_h, const int kernel_w, const int pad_h, const int pad_w,
                const int stride_h, const int stride_w, const int dilation_h, const int dilation_w,
                Dtype* data_im) {
  kernels::Col2im(DeviceContext(),
                  PlaneWindow(channels, height, width, kernel_h, kernel_w, pad_h, pad_w, stride_h,
                              stride_w, dilation_h, dilation_w),
                  data_col, data_im);
}

#define LAYRUB_INSTANTIATE_IM2COL(Dtype)                                                         \
  template void im2col_nd_cpu(const Dtype*, int, const int*, const int*, const int*, const int*, \
                              const int*, const int*, Dtype*);                                   \
  template void im2col_cpu(const Dtype*, int, int, int, int, int, int, int, int, int, int, int,  \
                           Dtype*);                                                              \
  template void col2im_nd_cpu(const Dtype*, int, const int*, const int*, const int*, const int*, \
                              const int*, const int*, Dtype*);                                   \
  template void col2im_cpu(const Dtype*, int, int, int, int, int, int, int, int, int, int, int,  \
                           Dtype*)
LAYRUB_INSTANTIATE_IM2COL(float);
LAYRUB_INSTANTIATE_IM2COL(double);
#undef LAYRUB_INSTANTIATE_IM2COL

#ifndef CPU_ONLY
namespace {

SlidingWindow WindowOnDevice(int axes, const int* image, const int* columns, const int* kernel,
                             const int* pad, const int* stride, const int* dilation) {
  const auto read = [](const int* from, int count) {
    std::vector<int> values(count);
    Caffe::device().Copy(values.data(), from, static_cast<int64_t>(count * sizeof(int)));
    return values;
  };
  return GeneralWindow(axes, read(image, axes + 1).data(), read(columns, axes + 1).data(),
                       read(kernel, axes).data(), read(pad, axes).data(), read(stride, axes).data(),
                       read(dilation, axes).data());
}

}  // namespace

template <typename Dtype>
void im2col_nd_gpu(const Dtype* data_im, const int num_spatial_axes, const int /*col_size*/,
                   const int* im_shape, const int* col_shape, const int* kernel_shape,
                   const int* pad, const int* stride, const int* dilation, Dtype* data_col) {
  kernels::Im2colNd(
      kernels::OnDevice(),
      WindowOnDevice(num_spatial_axes, im_shape, col_shape, kernel_shape, pad, stride, dilation),
      data_im, data_col);
}

template <typename Dtype>
void im2col_gpu(const Dtype* data_im, const int channels, const int height, const int width,
                const int kernel_h, const int kernel_w, const int pad_h, const int pad_w,
                const int stride_h, const int stride_w, const int dilation_h, const int dilation_w,
                Dtype* data_col) {
  kernels::Im2col(kernels::OnDevice(),
                  PlaneWindow(channels, height, width, kernel_h, kernel_w, pad_h, pad_w, stride_h,
                              stride_w, dilation_h, dilation_w),
                  data_im, data_col);
}

template <typename Dtype>
void col2im_nd_gpu(const Dtype* data_col, const int num_spatial_axes, const int /*im_size*/,
                   const int* im_shape, const int* col_shape, const int* kernel_shape,
                   const int* pad, const int* stride, const int* dilation, Dtype* data_im) {
  kernels::Col2imNd(
      kernels::OnDevice(),
      WindowOnDevice(num_spatial_axes, im_shape, col_shape, kernel_shape, pad, stride, dilation),
      data_col, data_im);
}

template <typename Dtype>
void col2im_gpu(const Dtype* data_col, const int channels, const int height, const int width,
                const int kernel_h, const int kernel_w, const int pad_h, const int pad_w,
                const int stride_h, const int stride_w, const int dilation_h, const int dilation_w,
                Dtype* data_im) {
  kernels::Col2im(kernels::OnDevice(),
                  PlaneWindow(channels, height, width, kernel_h, kernel_w, pad_h, pad_w, stride_h,
                              stride_w, dilation_h, dilation_w),
                  data_col, data_im);
}

#define LAYRUB_INSTANTIATE_IM2COL(Dtype)                                                        \
  template void im2col_nd_gpu(const Dtype*, int, int, const int*, const int*, const int*,       \
                              const int*, const int*, const int*, Dtype*);                      \
  template void im2col_gpu(const Dtype*, int, int, int, int, int, int, int, int, int, int, int, \
                           Dtype*);                                                             \
  template void col2im_nd_gpu(const Dtype*, int, int, const int*, const int*, const int*,       \
                              const int*, const int*, const int*, Dtype*);                      \
  template void col2im_gpu(const Dtype*, int, int, int, int, int, int, int, int, int, int, int, \
                           Dtype*)
LAYRUB_INSTANTIATE_IM2COL(float);
LAYRUB_INSTANTIATE_IM2COL(double);
#undef LAYRUB_INSTANTIATE_IM2COL
#endif

}  // namespace caffe
