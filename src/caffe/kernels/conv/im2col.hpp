#ifndef CAFFE_KERNELS_CONV_IM2COL_HPP_
#define CAFFE_KERNELS_CONV_IM2COL_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// The most spatial axes a convolution may have.
inline constexpr int kMaxSpatialAxes = 10;

/// How a window slides over the spatial axes of an image of `channels` channels. Dimensions are per
/// axis.
struct SlidingWindow {
  int axes = 0;
  int channels = 0;
  int image[kMaxSpatialAxes] = {};
  int output[kMaxSpatialAxes] = {};
  int kernel[kMaxSpatialAxes] = {};
  int pad[kMaxSpatialAxes] = {};
  int stride[kMaxSpatialAxes] = {};
  int dilation[kMaxSpatialAxes] = {};

  int64_t KernelSize() const { return Product(kernel); }
  int64_t ImageSize() const { return Product(image); }
  int64_t OutputSize() const { return Product(output); }
  /// Values in the column matrix: (channels * KernelSize()) x OutputSize().
  int64_t ColumnCount() const { return channels * KernelSize() * OutputSize(); }

 private:
  int64_t Product(const int* sizes) const {
    int64_t product = 1;
    for (int i = 0; i < axes; ++i) product *= sizes[i];
    return product;
  }
};

/// Output positions along one axis: (image + 2 pad - (dilation (kernel - 1) + 1)) / stride + 1,
/// rounded towards zero.
int64_t OutputDim(int64_t image, int64_t kernel, int64_t pad, int64_t stride, int64_t dilation);

/// Column matrix of one image: row (channel, kernel position), column (output position); zero
/// outside the image. Two spatial axes only.
template <typename Dtype>
void Im2col(const DeviceContext& context, const SlidingWindow& window, const Dtype* image,
            Dtype* columns);
/// The adjoint: each value of the image becomes the sum of the column values taken from it. Two
/// spatial axes only.
template <typename Dtype>
void Col2im(const DeviceContext& context, const SlidingWindow& window, const Dtype* columns,
            Dtype* image);

/// As the two above, for any number of spatial axes up to kMaxSpatialAxes.
template <typename Dtype>
void Im2colNd(const DeviceContext& context, const SlidingWindow& window, const Dtype* image,
              Dtype* columns);
template <typename Dtype>
void Col2imNd(const DeviceContext& context, const SlidingWindow& window, const Dtype* columns,
              Dtype* image);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CONV_IM2COL_HPP_
