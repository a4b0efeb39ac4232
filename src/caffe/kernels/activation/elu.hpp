#ifndef CAFFE_KERNELS_ACTIVATION_ELU_HPP_
#define CAFFE_KERNELS_ACTIVATION_ELU_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// Whether the derivative can be computed from y alone, which then has the sign of x.
template <typename Dtype>
bool EluDerivesFromY(Dtype alpha) {
  return alpha >= 0;
}

/// y = x where x > 0, alpha * (exp(x) - 1) elsewhere; y may alias x. `copy`, unless null, receives
/// what the backward pass needs: y if EluDerivesFromY, else x.
template <typename Dtype>
void EluForward(const DeviceContext& context, int64_t n, Dtype alpha, const Dtype* x, Dtype* y,
                Dtype* copy);
/// dx = dy where x > 0, dy * (alpha + y) elsewhere; dx may alias x or dy.
template <typename Dtype>
void EluBackward(const DeviceContext& context, int64_t n, Dtype alpha, const Dtype* x,
                 const Dtype* dy, Dtype* dx);
/// Computes the same bits as EluBackward, from y; dx may alias y or dy.
template <typename Dtype>
void EluBackwardFromY(const DeviceContext& context, int64_t n, Dtype alpha, const Dtype* y,
                      const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_ELU_HPP_
