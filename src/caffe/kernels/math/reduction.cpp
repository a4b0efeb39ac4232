#include "caffe/kernels/math/reduction.hpp"

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void SumRows(const DeviceContext& context, int64_t rows, int64_t columns, Summand summand,
             Dtype coeff, const Dtype* x, Dtype* y) {
  ParallelReduce<double>(
      context, rows, columns,
      [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) -> double {
        const double value = x[row * columns + column];
        if (summand == Summand::kSquare) return value * value;
        return summand == Summand::kAbsolute && value < 0 ? -value : value;
      },
      [=] LAYRUB_HOST_DEVICE(int64_t row, double sum) {
        y[row] = coeff * static_cast<Dtype>(sum);
      });
}

template <typename Dtype>
void SumRowsBackward(const DeviceContext& context, int64_t rows, int64_t columns, Summand summand,
                     Dtype coeff, const Dtype* x, const Dtype* dy, Dtype* dx) {
  ParallelFor(context, rows * columns, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    Dtype slope = 1;
    if (summand == Summand::kSquare) slope = 2 * x[i];
    if (summand == Summand::kAbsolute) slope = static_cast<Dtype>((x[i] > 0) - (x[i] < 0));
    dx[i] = coeff * dy[i / columns] * slope;
  });
}

#define INSTANTIATE(Dtype)                                                                     \
  template void SumRows<Dtype>(const DeviceContext&, int64_t, int64_t, Summand, Dtype,         \
                               const Dtype*, Dtype*);                                          \
  template void SumRowsBackward<Dtype>(const DeviceContext&, int64_t, int64_t, Summand, Dtype, \
                                       const Dtype*, const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
