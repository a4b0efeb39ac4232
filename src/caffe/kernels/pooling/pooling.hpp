#ifndef CAFFE_KERNELS_POOLING_POOLING_HPP_
#define CAFFE_KERNELS_POOLING_POOLING_HPP_

#include <cstdint>
#include <vector>

#include "caffe/kernels/engines.hpp"

namespace caffe {
namespace kernels {

/// Windows over `planes` planes of height x width. Window (0, 0) starts at (-pad_h, -pad_w).
struct PoolingWindow {
  int64_t planes = 0;
  int block = 1;  ///< block size of the planes (Blob::channel_block); above 1 only without a mask
  int height = 0, width = 0;
  int pooled_height = 0, pooled_width = 0;
  int kernel_h = 0, kernel_w = 0;
  int stride_h = 1, stride_w = 1;
  int pad_h = 0, pad_w = 0;

  int64_t KernelSize() const { return int64_t{kernel_h} * kernel_w; }
};

/// Whether no window extends beyond the padded plane.
bool WholeWindows(const PoolingWindow& window);

/// Bytes of one entry of the max-pooling index: the smallest unsigned type that can number the
/// kernel's positions.
int PoolingIndexBytes(const PoolingWindow& window);

/// y = the largest value of each window; the lowest finite value for a window that lies entirely in
/// the padding. `index`, unless null, receives the position of that value in its window (row by
/// row, the first of equal ones), in PoolingIndexBytes bytes each. `mask`, unless null, receives
/// its position in the plane (-1 for an empty window).
template <typename Dtype>
void MaxPoolForward(const DeviceContext& context, const PoolingWindow& window, const Dtype* x,
                    Dtype* y, void* index, Dtype* mask);
template <typename Dtype>
void MaxPoolBackward(const DeviceContext& context, const PoolingWindow& window, const Dtype* dy,
                     const void* index, Dtype* dx);

/// y = the sum over the part of the window inside the plane, divided by the size of the part inside
/// the padded plane.
template <typename Dtype>
void AveragePoolForward(const DeviceContext& context, const PoolingWindow& window, const Dtype* x,
                        Dtype* y, const AlgorithmRun& chosen = {});
template <typename Dtype>
void AveragePoolBackward(const DeviceContext& context, const PoolingWindow& window, const Dtype* dy,
                         Dtype* dx, const AlgorithmRun& chosen = {});
/// The algorithms of AveragePoolForward or, if `backward`, AveragePoolBackward (ChooseRival).
template <typename Dtype>
std::vector<Algorithm> AveragePoolEngines(const DeviceContext& context, const PoolingWindow& window,
                                          bool backward);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_POOLING_HPP_
