#include "caffe/kernels/pooling/interp.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {
namespace {

/// One axis: value k of the result is at position k * from / to in the source, where from and to
/// are numbers of steps. Positions are kept as fractions, so that none is lost by rounding.
struct Axis {
  int64_t from;  ///< steps between the source's values
  int64_t to;    ///< steps between the result's, at least 1
};

Axis AxisOf(int from, int to) { return {from - 1, to > 1 ? to - 1 : 1}; }

/// The two neighbours of a value of the result, and the weight of each.
template <typename Dtype>
struct Between {
  int64_t first, second;
  Dtype first_weight, second_weight;
};

template <typename Dtype>
LAYRUB_HOST_DEVICE Between<Dtype> Neighbours(const Axis& axis, int64_t k) {
  const int64_t first = k * axis.from / axis.to, rest = k * axis.from % axis.to;
  return {first, rest == 0 ? first : first + 1, Dtype(axis.to - rest) / Dtype(axis.to),
          Dtype(rest) / Dtype(axis.to)};
}

/// The values [begin, end) of the result that are less than a step away from value i of the source.
struct Near {
  int64_t begin, end;
};

LAYRUB_HOST_DEVICE inline Near NearOnes(const Axis& axis, int64_t i, int64_t count) {
  if (axis.from == 0) return {0, count};
  const int64_t begin = i == 0 ? 0 : (i - 1) * axis.to / axis.from + 1;
  const int64_t end = ((i + 1) * axis.to + axis.from - 1) / axis.from;
  return {begin, end < count ? end : count};
}

/// The weight of value i of the source in value k of the result, which must be near it.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Weight(const Axis& axis, int64_t i, int64_t k) {
  const int64_t away = k * axis.from - i * axis.to;
  return Dtype(axis.to - (away < 0 ? -away : away)) / Dtype(axis.to);
}

}  // namespace

template <typename Dtype>
void InterpForward(const DeviceContext& context, const Interpolation& map, const Dtype* x,
                   Dtype* y) {
  const Interpolation m = map;
  const Axis down = AxisOf(m.from_height, m.to_height), across = AxisOf(m.from_width, m.to_width);
  ParallelForRows(
      context, m.planes * m.to_height, m.to_width,
      [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
        const Between<Dtype> v = Neighbours<Dtype>(down, row % m.to_height);
        const Between<Dtype> h = Neighbours<Dtype>(across, column);
        const Dtype* part = x + (row / m.to_height * m.height + m.top) * m.width + m.left;
        const Dtype* upper = part + v.first * m.width;
        const Dtype* lower = part + v.second * m.width;
        y[row * m.to_width + column] =
            v.first_weight * (h.first_weight * upper[h.first] + h.second_weight * upper[h.second]) +
            v.second_weight * (h.first_weight * lower[h.first] + h.second_weight * lower[h.second]);
      });
}

template <typename Dtype>
void InterpBackward(const DeviceContext& context, const Interpolation& map, const Dtype* dy,
                    Dtype* dx) {
  const Interpolation m = map;
  const Axis down = AxisOf(m.from_height, m.to_height), across = AxisOf(m.from_width, m.to_width);
  ParallelForRows(context, m.planes * m.height, m.width,
                  [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
                    const int64_t i = row % m.height - m.top, j = column - m.left;
                    Dtype sum = 0;
                    if (i >= 0 && i < m.from_height && j >= 0 && j < m.from_width) {
                      const Near rows = NearOnes(down, i, m.to_height);
                      const Near columns = NearOnes(across, j, m.to_width);
                      const Dtype* plane = dy + row / m.height * m.to_height * m.to_width;
                      for (int64_t k = rows.begin; k < rows.end; ++k) {
                        Dtype of_row = 0;
                        for (int64_t l = columns.begin; l < columns.end; ++l)
                          of_row += Weight<Dtype>(across, j, l) * plane[k * m.to_width + l];
                        sum += Weight<Dtype>(down, i, k) * of_row;
                      }
                    }
                    dx[row * m.width + column] = sum;
                  });
}

#define INSTANTIATE(Dtype)                                                                       \
  template void InterpForward(const DeviceContext&, const Interpolation&, const Dtype*, Dtype*); \
  template void InterpBackward(const DeviceContext&, const Interpolation&, const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
