#ifndef CAFFE_KERNELS_ACTIVATION_BNLL_HPP_
#define CAFFE_KERNELS_ACTIVATION_BNLL_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = log(1 + exp(x)), without overflow; y may alias x. `copy`, unless null, receives y.
template <typename Dtype>
void BnllForward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y, Dtype* copy);
/// dx = dy / (1 + exp(-x)), computed as dy * (1 - exp(-y)); dx may alias x or dy.
template <typename Dtype>
void BnllBackward(const DeviceContext& context, int64_t n, const Dtype* x, const Dtype* dy,
                  Dtype* dx);
/// Computes the same bits as BnllBackward, from y; dx may alias y or dy.
template <typename Dtype>
void BnllBackwardFromY(const DeviceContext& context, int64_t n, const Dtype* y, const Dtype* dy,
                       Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_BNLL_HPP_
