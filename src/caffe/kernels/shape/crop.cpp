#include "caffe/kernels/shape/crop.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {
namespace {

/// The number of rows (runs along the last axis) of an array of `dims`.
int64_t Rows(const Box& box, const int* dims) {
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < box.axes; ++axis) rows *= dims[axis];
  return rows;
}

/// The array's row that holds row `row` of the box.
LAYRUB_HOST_DEVICE inline int64_t ArrayRow(const Box& box, int64_t row) {
  int64_t array_row = 0, stride = 1;
  for (int axis = box.axes - 2; axis >= 0; --axis) {
    array_row += (row % box.size[axis] + box.offset[axis]) * stride;
    row /= box.size[axis];
    stride *= box.dims[axis];
  }
  return array_row;
}

/// The row of the box that lies in row `row` of the array, or -1.
LAYRUB_HOST_DEVICE inline int64_t BoxRow(const Box& box, int64_t row) {
  int64_t box_row = 0, stride = 1;
  for (int axis = box.axes - 2; axis >= 0; --axis) {
    const int64_t at = row % box.dims[axis] - box.offset[axis];
    if (at < 0 || at >= box.size[axis]) return -1;
    box_row += at * stride;
    row /= box.dims[axis];
    stride *= box.size[axis];
  }
  return box_row;
}

}  // namespace

template <typename Dtype>
void CropForward(const DeviceContext& context, const Box& box, const Dtype* x, Dtype* y) {
  const int last = box.axes - 1, width = box.size[last];
  ParallelForSegments(context, Rows(box, box.size), width, width,
                      [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
                        const Dtype* from = x + ArrayRow(box, row) * box.dims[last];
                        for (int i = begin; i < end; ++i)
                          y[row * width + i] = from[box.offset[last] + i];
                      });
}

template <typename Dtype>
void CropBackward(const DeviceContext& context, const Box& box, const Dtype* dy, Dtype* dx) {
  const int last = box.axes - 1, width = box.dims[last];
  ParallelForSegments(context, Rows(box, box.dims), width, width,
                      [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
                        const int64_t box_row = BoxRow(box, row);
                        for (int i = begin; i < end; ++i) {
                          const int at = i - box.offset[last];
                          const bool inside = box_row >= 0 && at >= 0 && at < box.size[last];
                          dx[row * width + i] =
                              inside ? dy[box_row * box.size[last] + at] : Dtype(0);
                        }
                      });
}

#define INSTANTIATE(Dtype)                                                           \
  template void CropForward(const DeviceContext&, const Box&, const Dtype*, Dtype*); \
  template void CropBackward(const DeviceContext&, const Box&, const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
