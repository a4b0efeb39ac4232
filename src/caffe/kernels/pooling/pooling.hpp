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
  int block = 1;  ///< planes whose values lie side by side (Blob::channel_block), without a mask
  int height = 0, width = 0;
  int pooled_height = 0, pooled_width = 0;
  int kernel_h = 0, kernel_w = 0;
  int stride_h = 1, stride_w = 1;
  int pad_h = 0, pad_w = 0;

  int64_t KernelSize() const { return int64_t{kernel_h} * kernel_w; }
};

/// No window sticks out of the padded plane.
bool WholeWindows(const PoolingWindow& window);

/// Bytes of one entry of the max-pooling index: the smallest unsigned type that can number the
/// kernel's positions.
int PoolingIndexBytes(const PoolingWindow& window);

/// y = the largest value of each window; the lowest finite value where the padding leaves a window
/// empty. `index`, unless null, receives the position of that value in its window, row by row, the
/// first of equal ones (PoolingIndexBytes bytes each); `mask`, unless null, its position in the
/// plane (-1 in an empty window).
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
                        Dtype* y, const AlgorithmScratch& scratch = {});
template <typename Dtype>
void AveragePoolBackward(const DeviceContext& context, const PoolingWindow& window, const Dtype* dy,
                         Dtype* dx, const AlgorithmScratch& scratch = {});
/// The choices for one or the other (OwnOrLibrary).
template <typename Dtype>
std::vector<Workspace> AveragePoolEngines(const DeviceContext& context, const PoolingWindow& window,
                                          bool backward);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_POOLING_HPP_
