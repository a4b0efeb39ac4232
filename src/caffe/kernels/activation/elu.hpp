#ifndef CAFFE_KERNELS_ACTIVATION_ELU_HPP_
#define CAFFE_KERNELS_ACTIVATION_ELU_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// The sign of y, and with it the derivative, is known from y alone.
template <typename Dtype>
bool EluDerivesFromY(Dtype alpha) {
  return alpha >= 0;
}

/// y = x where x > 0, alpha * (exp(x) - 1) elsewhere; y may lie on x. `copy`, unless null, receives
/// what the backward needs: y if that derives from y, else x.
template <typename Dtype>
void EluForward(const DeviceContext& context, int64_t n, Dtype alpha, const Dtype* x, Dtype* y,
                Dtype* copy);
/// dx = dy where x > 0, dy * (alpha + y) elsewhere; dx may lie on x or dy.
template <typename Dtype>
void EluBackward(const DeviceContext& context, int64_t n, Dtype alpha, const Dtype* x,
                 const Dtype* dy, Dtype* dx);
/// The same bits from y; dx may lie on y or dy.
template <typename Dtype>
void EluBackwardFromY(const DeviceContext& context, int64_t n, Dtype alpha, const Dtype* y,
                      const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_ELU_HPP_
