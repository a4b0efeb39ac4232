#ifndef CAFFE_KERNELS_MATH_AXPY_HPP_
#define CAFFE_KERNELS_MATH_AXPY_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// f = a * x + y, where x, y and f are rows x length and a has one value for each row; f may alias
/// x or y.
template <typename Dtype>
void AxpyRows(const DeviceContext& context, int64_t rows, int64_t length, const Dtype* a,
              const Dtype* x, const Dtype* y, Dtype* f);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_AXPY_HPP_
