#ifndef CAFFE_KERNELS_MATH_LOG_HPP_
#define CAFFE_KERNELS_MATH_LOG_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = outer * log(shift + scale * x)
template <typename Dtype>
struct LogFunction {
  Dtype outer;
  Dtype scale;
  Dtype shift;
};

/// y may alias x. `copy`, unless null, receives x.
template <typename Dtype>
void LogForward(const DeviceContext& context, int64_t n, const LogFunction<Dtype>& function,
                const Dtype* x, Dtype* y, Dtype* copy);
/// dx = dy * outer * scale / (shift + scale * x); dx may alias x or dy.
template <typename Dtype>
void LogBackward(const DeviceContext& context, int64_t n, const LogFunction<Dtype>& function,
                 const Dtype* x, const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_LOG_HPP_
