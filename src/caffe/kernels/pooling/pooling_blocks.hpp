#ifndef CAFFE_KERNELS_POOLING_POOLING_BLOCKS_HPP_
#define CAFFE_KERNELS_POOLING_POOLING_BLOCKS_HPP_

#include "caffe/kernels/pooling/pooling.hpp"

namespace caffe {
namespace kernels {

// The functions of pooling.hpp for channels in blocks (PoolingWindow::block), in x and y alike, on
// the host. They give the same bits as for plain arrays.

template <typename Dtype, typename Index>
void MaxForwardInBlocks(const DeviceContext& context, const PoolingWindow& window, const Dtype* x,
                        Dtype* y, Index* index);
template <typename Dtype, typename Index>
void MaxBackwardInBlocks(const DeviceContext& context, const PoolingWindow& window, const Dtype* dy,
                         const Index* index, Dtype* dx);
template <typename Dtype>
void AverageForwardInBlocks(const DeviceContext& context, const PoolingWindow& window,
                            const Dtype* x, Dtype* y);
template <typename Dtype>
void AverageBackwardInBlocks(const DeviceContext& context, const PoolingWindow& window,
                             const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_POOLING_BLOCKS_HPP_
