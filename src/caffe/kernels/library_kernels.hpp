#ifndef CAFFE_KERNELS_LIBRARY_KERNELS_HPP_
#define CAFFE_KERNELS_LIBRARY_KERNELS_HPP_

// Kernels of the device's library (cuDNN) that compute what ours of the same name do, though not
// to the same bits. They return false where the library cannot do it, having written nothing, as
// all of them do where the build or the machine has no library. They queue on CUDA's default
// stream, and each is reproducible by the library's word.

#include "caffe/kernels/loss/labels.hpp"
#include "caffe/kernels/norm/lrn.hpp"
#include "caffe/kernels/pooling/pooling.hpp"

namespace caffe {

class AlgorithmCache;

namespace kernels {

/// The file of times for this GPU and this version of the library; null: `context` has no library.
AlgorithmCache* LibraryTimes(const DeviceContext& context);

/// Not where a window sticks out of the padded plane: the library divides by its whole size there.
template <typename Dtype>
bool LibraryAveragePoolForward(const PoolingWindow& window, const Dtype* x, Dtype* y);
template <typename Dtype>
bool LibraryAveragePoolBackward(const PoolingWindow& window, const Dtype* dy, Dtype* dx);

/// Across channels only. y must lie apart from x.
template <typename Dtype>
bool LibraryLrnForward(const LrnGrid& grid, const LrnFunction<Dtype>& function, const Dtype* x,
                       Dtype* y);
/// `y` as LibraryLrnForward gives it. dx must lie apart from the others.
template <typename Dtype>
bool LibraryLrnBackward(const LrnGrid& grid, const LrnFunction<Dtype>& function, const Dtype* x,
                        const Dtype* y, const Dtype* dy, Dtype* dx);

/// y must lie apart from x.
template <typename Dtype>
bool LibrarySoftmaxForward(const ScoreShape& shape, const Dtype* x, Dtype* y);
/// dx may be dy; it must lie apart from y.
template <typename Dtype>
bool LibrarySoftmaxBackward(const ScoreShape& shape, const Dtype* y, const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LIBRARY_KERNELS_HPP_
