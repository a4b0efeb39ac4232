#ifndef CAFFE_KERNELS_ACTIVATION_DROPOUT_HPP_
#define CAFFE_KERNELS_ACTIVATION_DROPOUT_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// A mask that is computed wherever it is needed and stored nowhere: value i is kept if the upper
/// 32 bits of number i of a stream of random numbers reach `threshold`.
struct DropoutMask {
  uint64_t key;        ///< where the stream begins
  uint64_t threshold;  ///< of 2^32: the share of values that are dropped
  uint64_t first = 0;  ///< the number of the first value
};

/// The mask of a forward pass that has drawn `key`; `ratio`, in [0, 1), is dropped.
DropoutMask MakeDropoutMask(uint64_t key, double ratio);

/// y = scale * x where the mask keeps, 0 elsewhere. y may lie on x.
template <typename Dtype>
void Dropout(const DeviceContext& context, int64_t n, const DropoutMask& mask, Dtype scale,
             const Dtype* x, Dtype* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_DROPOUT_HPP_
