#include "caffe/kernels/shape/axis_order.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

AxisOrder AxesInOrder(const std::vector<int>& dims, const std::vector<int>& order) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  AxisOrder result;
  result.axes = 1;
  result.size[0] = 1;
  result.stride[0] = 1;
  for (size_t k = 0; k < order.size(); ++k) {
    const int axis = order[k];
    int last = result.axes - 1;
    if (k == 0 || order[k - 1] + 1 == axis) {
      result.size[last] *= dims[axis];
    } else {
      ++result.axes;
      ++last;
      result.size[last] = dims[axis];
    }
    result.stride[last] = strides[axis];
  }
  return result;
}

template <typename Dtype>
void ReorderAxes(const DeviceContext& context, const AxisOrder& order, const Dtype* x, Dtype* y) {
  const int last = order.axes - 1, width = order.size[last];
  const int64_t step = order.stride[last];
  int64_t rows = 1;
  for (int axis = 0; axis < last; ++axis) rows *= order.size[axis];
  ParallelForSegments(context, rows, width, width,
                      [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
                        const Dtype* from = x;
                        int64_t rest = row;
                        for (int axis = last - 1; axis >= 0; --axis) {
                          from += rest % order.size[axis] * order.stride[axis];
                          rest /= order.size[axis];
                        }
                        for (int i = begin; i < end; ++i) y[row * width + i] = from[i * step];
                      });
}

template void ReorderAxes(const DeviceContext&, const AxisOrder&, const float*, float*);
template void ReorderAxes(const DeviceContext&, const AxisOrder&, const double*, double*);

}  // namespace kernels
}  // namespace caffe
