#ifndef CAFFE_KERNELS_MATH_ELTWISE_HPP_
#define CAFFE_KERNELS_MATH_ELTWISE_HPP_

// Arithmetic on arrays of equal length, each in one pass: an output may alias any input of the
// same element type.

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// y = c * x
template <typename Dtype>
void Scaled(const DeviceContext& context, int64_t n, Dtype c, const Dtype* x, Dtype* y);
/// y = ca * a + cb * b
template <typename Dtype>
void WeightedSum(const DeviceContext& context, int64_t n, Dtype ca, const Dtype* a, Dtype cb,
                 const Dtype* b, Dtype* y);
/// y = ReluForward of ca * a + cb * b, `mask` as there.
template <typename Dtype>
void RectifiedSum(const DeviceContext& context, int64_t n, Dtype ca, const Dtype* a, Dtype cb,
                  const Dtype* b, Dtype slope, Dtype* y, uint8_t* mask);
/// y = a * b
template <typename Dtype>
void Product(const DeviceContext& context, int64_t n, const Dtype* a, const Dtype* b, Dtype* y);
/// dx = y / x * dy
template <typename Dtype>
void QuotientTimes(const DeviceContext& context, int64_t n, const Dtype* y, const Dtype* x,
                   const Dtype* dy, Dtype* dx);

/// y = the greater of a and b (b when they are equal); index = 0 or 1, which one, unless null.
template <typename Dtype>
void Maximum(const DeviceContext& context, int64_t n, const Dtype* a, const Dtype* b, Dtype* y,
             uint8_t* index);
/// Where x > y: y = x and index = k.
template <typename Dtype>
void MaximumWith(const DeviceContext& context, int64_t n, int k, const Dtype* x, Dtype* y,
                 uint8_t* index);
/// dx = dy where index is k, 0 elsewhere.
template <typename Dtype>
void MaximumBackward(const DeviceContext& context, int64_t n, int k, const uint8_t* index,
                     const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_ELTWISE_HPP_
