#ifndef CAFFE_KERNELS_MATH_REDUCTION_HPP_
#define CAFFE_KERNELS_MATH_REDUCTION_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// What is summed: the values, their absolute values or their squares.
enum class Summand { kValue, kAbsolute, kSquare };

/// y[r] = coeff * sum over row r of x, which has `rows` rows of `columns` values.
template <typename Dtype>
void SumRows(const DeviceContext& context, int64_t rows, int64_t columns, Summand summand,
             Dtype coeff, const Dtype* x, Dtype* y);
/// dx = the gradient of SumRows. For kValue x is not read and may be null. dx may be x.
template <typename Dtype>
void SumRowsBackward(const DeviceContext& context, int64_t rows, int64_t columns, Summand summand,
                     Dtype coeff, const Dtype* x, const Dtype* dy, Dtype* dx);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_REDUCTION_HPP_
