#ifndef CAFFE_KERNELS_ACTIVATION_DROPOUT_HPP_
#define CAFFE_KERNELS_ACTIVATION_DROPOUT_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// A dropout mask that is recomputed where it is needed and never stored. Value i is kept if the
/// upper 32 bits of number `first` + i of a random stream are at least `threshold`.
struct DropoutMask {
  uint64_t key;        ///< start of the random stream
  uint64_t threshold;  ///< the dropped share of values, times 2^32
  uint64_t first = 0;  ///< number of the first value in the stream
};

/// Returns the mask of a forward pass that has drawn `key`. `ratio`, in [0, 1), is the share of
/// values to drop.
DropoutMask MakeDropoutMask(uint64_t key, double ratio);

/// y = scale * x where the mask keeps, 0 elsewhere. y may alias x.
template <typename Dtype>
void Dropout(const DeviceContext& context, int64_t n, const DropoutMask& mask, Dtype scale,
             const Dtype* x, Dtype* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_DROPOUT_HPP_
