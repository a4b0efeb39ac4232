#ifndef CAFFE_KERNELS_MATH_EXP_HPP_
#define CAFFE_KERNELS_MATH_EXP_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = outer * exp(inner * x)
template <typename Dtype>
struct ExpFunction {
  Dtype inner;
  Dtype outer;
};

/// y may alias x. `copy`, unless null, receives y.
template <typename Dtype>
void ExpForward(const DeviceContext& context, int64_t n, const ExpFunction<Dtype>& function,
                const Dtype* x, Dtype* y, Dtype* copy);
/// dx = dy * inner * y; dx may alias x or dy.
template <typename Dtype>
void ExpBackward(const DeviceContext& context, int64_t n, const ExpFunction<Dtype>& function,
                 const Dtype* x, const Dtype* dy, Dtype* dx);
/// Computes the same bits as ExpBackward, from y; dx may alias y or dy.
template <typename Dtype>
void ExpBackwardFromY(const DeviceContext& context, int64_t n, const ExpFunction<Dtype>& function,
                      const Dtype* y, const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_EXP_HPP_
