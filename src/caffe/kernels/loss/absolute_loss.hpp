#ifndef CAFFE_KERNELS_LOSS_ABSOLUTE_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_ABSOLUTE_LOSS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// A loss of n values: the sum of outer * f(inner * (a - b)) / samples, where f(d) is d^2 / (2 *
/// bend) where |d| < bend, and |d| - bend / 2 elsewhere. The loss is 0 if there are no samples.
/// Null `inner` or `outer` weights count as 1.
template <typename Dtype>
struct AbsoluteLoss {
  int64_t n = 0;
  int64_t samples = 0;
  Dtype bend = 0;
  const Dtype* a = nullptr;
  const Dtype* b = nullptr;
  const Dtype* inner = nullptr;
  const Dtype* outer = nullptr;
};

template <typename Dtype>
void AbsoluteLossForward(const DeviceContext& context, const AbsoluteLoss<Dtype>& loss, Dtype* sum);

/// da = weight * the derivative of the loss with respect to a, db = -da; each may be null. Either
/// may alias an input other than `weight`, a single value.
template <typename Dtype>
void AbsoluteLossBackward(const DeviceContext& context, const AbsoluteLoss<Dtype>& loss,
                          const Dtype* weight, Dtype* da, Dtype* db);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_ABSOLUTE_LOSS_HPP_
