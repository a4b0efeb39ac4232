#include "caffe/kernels/exchange/boxes.hpp"

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
namespace {

/// Where a number of the boxes is in the two arrays.
struct Places {
  int64_t x, y;
};

LAYRUB_HOST_DEVICE inline Places PlacesOf(const BoxPair& boxes, int64_t number) {
  Places at{boxes.x_first, boxes.y_first};
  for (int axis = boxes.axes - 1; axis >= 0; --axis) {
    const int64_t rest = number / boxes.size[axis], index = number - rest * boxes.size[axis];
    at.x += index * boxes.x_stride[axis];
    at.y += index * boxes.y_stride[axis];
    number = rest;
  }
  return at;
}

/// Calls row(places, number, count) for runs of `count` numbers along the last axis that start with
/// `number`. On a GPU each run is a single number.
template <typename Row>
void ForEachRun(const DeviceContext& context, const BoxPair& boxes, int64_t begin, int64_t end,
                Row row) {
  if (begin >= end) return;
  const BoxPair all = boxes;
  if (context.launch) {
    ParallelFor(context, end - begin, [=] LAYRUB_HOST_DEVICE(int64_t i) {
      row(PlacesOf(all, begin + i), begin + i, int64_t{1});
    });
    return;
  }
  const int64_t width = boxes.size[boxes.axes - 1], first = begin / width;
  const int64_t rows = (end - 1) / width + 1 - first;
  ParallelForHeavy(context, rows, (end - begin) / rows, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const int64_t row_begin = (first + i) * width, row_end = row_begin + width;
    const int64_t from = row_begin > begin ? row_begin : begin;
    row(PlacesOf(all, from), from, (row_end < end ? row_end : end) - from);
  });
}

template <typename Dtype>
LAYRUB_HOST_DEVICE inline void Put(const Dtype* from, int64_t count, bool adds, Dtype* to) {
  if (adds) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

}  // namespace

template <typename Dtype>
void PackBox(const DeviceContext& context, const BoxPair& boxes, int64_t begin, int64_t end,
             const Dtype* x, Dtype* packed) {
  ForEachRun(context, boxes, begin, end,
             [=] LAYRUB_HOST_DEVICE(const Places& at, int64_t number, int64_t count) {
               Put(x + at.x, count, false, packed + (number - begin));
             });
}

template <typename Dtype>
void UnpackBox(const DeviceContext& context, const BoxPair& boxes, int64_t begin, int64_t end,
               const Dtype* packed, bool adds, Dtype* y) {
  ForEachRun(context, boxes, begin, end,
             [=] LAYRUB_HOST_DEVICE(const Places& at, int64_t number, int64_t count) {
               Put(packed + (number - begin), count, adds, y + at.y);
             });
}

template <typename Dtype>
void MoveBox(const DeviceContext& context, const BoxPair& boxes, int64_t begin, int64_t end,
             const Dtype* x, bool adds, Dtype* y) {
  ForEachRun(context, boxes, begin, end,
             [=] LAYRUB_HOST_DEVICE(const Places& at, int64_t, int64_t count) {
               Put(x + at.x, count, adds, y + at.y);
             });
}

template <typename Dtype>
void AddInOrder(const DeviceContext& context, int64_t n, int parts, int own, const Dtype* others,
                int64_t stride, Dtype* y) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    Dtype sum = own == 0 ? y[i] : others[i];
    for (int part = 1; part < parts; ++part)
      sum += part == own ? y[i] : others[(part < own ? part : part - 1) * stride + i];
    y[i] = sum;
  });
}

#define INSTANTIATE(Dtype)                                                                      \
  template void PackBox(const DeviceContext&, const BoxPair&, int64_t, int64_t, const Dtype*,   \
                        Dtype*);                                                                \
  template void UnpackBox(const DeviceContext&, const BoxPair&, int64_t, int64_t, const Dtype*, \
                          bool, Dtype*);                                                        \
  template void MoveBox(const DeviceContext&, const BoxPair&, int64_t, int64_t, const Dtype*,   \
                        bool, Dtype*);                                                          \
  template void AddInOrder(const DeviceContext&, int64_t, int, int, const Dtype*, int64_t, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
