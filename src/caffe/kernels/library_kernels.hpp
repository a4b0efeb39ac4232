#ifndef CAFFE_KERNELS_LIBRARY_KERNELS_HPP_
#define CAFFE_KERNELS_LIBRARY_KERNELS_HPP_

// Kernels of the device's library (cuDNN). Each computes the same function as our kernel of that
// name, but the bits may differ. A kernel returns false and writes nothing if the library cannot do
// it, or if the build or the machine has no library. Kernels queue on CUDA's default stream. cuDNN
// documents each of them as reproducible.

#include "caffe/kernels/loss/labels.hpp"
#include "caffe/kernels/norm/lrn.hpp"
#include "caffe/kernels/pooling/pooling.hpp"

namespace caffe {

class AlgorithmCache;

namespace kernels {

/// The measured times for this GPU and this version of the library. Null if `context` has no
/// library.
AlgorithmCache* LibraryTimes(const DeviceContext& context);

/// Returns false if a window extends beyond the padded plane: the library would divide by the whole
/// window size there.
template <typename Dtype>
bool LibraryAveragePoolForward(const PoolingWindow& window, const Dtype* x, Dtype* y);
template <typename Dtype>
bool LibraryAveragePoolBackward(const PoolingWindow& window, const Dtype* dy, Dtype* dx);

/// Across channels only. y must not overlap x.
template <typename Dtype>
bool LibraryLrnForward(const LrnGrid& grid, const LrnFunction<Dtype>& function, const Dtype* x,
                       Dtype* y);
/// `y` is the output of LibraryLrnForward. dx must not overlap the others.
template <typename Dtype>
bool LibraryLrnBackward(const LrnGrid& grid, const LrnFunction<Dtype>& function, const Dtype* x,
                        const Dtype* y, const Dtype* dy, Dtype* dx);

/// y must not overlap x.
template <typename Dtype>
bool LibrarySoftmaxForward(const ScoreShape& shape, const Dtype* x, Dtype* y);
/// dx may be dy; it must not overlap y.
template <typename Dtype>
bool LibrarySoftmaxBackward(const ScoreShape& shape, const Dtype* y, const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LIBRARY_KERNELS_HPP_
