#ifndef CAFFE_KERNELS_LOSS_ABSOLUTE_LOSS_HPP_
#define CAFFE_KERNELS_LOSS_ABSOLUTE_LOSS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// A loss of n values: the sum of outer * f(inner * (a - b)) / samples, where f(d) is
/// d^2 / (2 * bend) where |d| < bend, and |d| - bend / 2 elsewhere; 0 where there is no sample.
/// Weights that are null are 1.
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

/// da = weight * the loss's derivative by a, db = -da, where they are not null. Either may lie on
/// an input other than `weight`, a single value.
template <typename Dtype>
void AbsoluteLossBackward(const DeviceContext& context, const AbsoluteLoss<Dtype>& loss,
                          const Dtype* weight, Dtype* da, Dtype* db);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_ABSOLUTE_LOSS_HPP_
