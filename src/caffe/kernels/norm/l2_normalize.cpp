#include "caffe/kernels/norm/l2_normalize.hpp"

#include <cmath>

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {
namespace {

/// The norm of value i. Uses 32 bits, which hold any index of a blob and divide faster.
LAYRUB_HOST_DEVICE inline int64_t NormOf(const L2Shape& shape, int64_t i) {
  const auto at = static_cast<uint32_t>(i), inner = static_cast<uint32_t>(shape.inner);
  const uint32_t item = at / (static_cast<uint32_t>(shape.channels) * inner);
  return shape.whole_items ? item : item * inner + at % inner;
}

/// For each norm, calls store(norm, sum over its values of map(channel, value)), where `value` is
/// an index into the array.
template <typename Dtype, typename Map, typename Store>
void SumNorms(const DeviceContext& context, const L2Shape& shape, Map map, Store store) {
  const L2Shape s = shape;
  if (s.whole_items) {
    const int64_t length = s.channels * s.inner;
    ParallelReduce<Dtype>(
        context, s.outer, length,
        [=] LAYRUB_HOST_DEVICE(int64_t item, int64_t i) {
          return map(i / s.inner, item * length + i);
        },
        store);
    return;
  }
  ParallelForRows(context, s.outer, s.inner, [=] LAYRUB_HOST_DEVICE(int64_t item, int64_t at) {
    Dtype sum = 0;
    for (int64_t c = 0; c < s.channels; ++c) sum += map(c, (item * s.channels + c) * s.inner + at);
    store(item * s.inner + at, sum);
  });
}

/// Calls body(channel, norm, value) for all values.
template <typename Body>
void ForValues(const DeviceContext& context, const L2Shape& shape, Body body) {
  const L2Shape s = shape;
  ParallelForRows(context, s.outer * s.channels, s.inner,
                  [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
                    const int64_t item = row / s.channels;
                    body(row % s.channels, s.whole_items ? item : item * s.inner + column,
                         row * s.inner + column);
                  });
}

}  // namespace

template <typename Dtype>
void InverseL2Norms(const DeviceContext& context, const L2Shape& shape, Dtype epsilon,
                    const Dtype* x, Dtype* inverse) {
  SumNorms<Dtype>(
      context, shape, [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return x[i] * x[i]; },
      [=] LAYRUB_HOST_DEVICE(int64_t norm, Dtype sum) {
        inverse[norm] = 1 / std::sqrt(sum + epsilon);
      });
}

template <typename Dtype>
void L2NormalizeForward(const DeviceContext& context, const L2Shape& shape, const Dtype* x,
                        const Dtype* inverse, const Dtype* scale, Dtype* y, Dtype* copy) {
  const L2Shape s = shape;
  ForValues(context, s, [=] LAYRUB_HOST_DEVICE(int64_t c, int64_t norm, int64_t i) {
    const Dtype value = x[i];
    if (copy != nullptr) copy[i] = value;
    y[i] = scale[s.shared_scale ? 0 : c] * value * inverse[norm];
  });
}

template <typename Dtype>
void L2NormalizeBackward(const DeviceContext& context, const L2Shape& shape, const Dtype* x,
                         const Dtype* inverse, const Dtype* scale, const Dtype* dy, Dtype* dx,
                         Dtype* workspace) {
  const L2Shape s = shape;
  SumNorms<Dtype>(
      context, s,
      [=] LAYRUB_HOST_DEVICE(int64_t c, int64_t i) {
        return scale[s.shared_scale ? 0 : c] * dy[i] * x[i];
      },
      [=] LAYRUB_HOST_DEVICE(int64_t norm, Dtype sum) {
        workspace[norm] = sum * inverse[norm] * inverse[norm];
      });
  ForValues(context, s, [=] LAYRUB_HOST_DEVICE(int64_t c, int64_t norm, int64_t i) {
    dx[i] = inverse[norm] * (scale[s.shared_scale ? 0 : c] * dy[i] - x[i] * workspace[norm]);
  });
}

template <typename Dtype>
void L2ScaleGradient(const DeviceContext& context, const L2Shape& shape, const Dtype* x,
                     const Dtype* inverse, const Dtype* dy, Dtype* dscale, Dtype* workspace) {
  const L2Shape s = shape;
  if (!s.shared_scale) {
    ReduceChannels<Dtype>(
        context, s.outer, s.channels, s.inner,
        [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return dy[i] * x[i] * inverse[NormOf(s, i)]; },
        [=] LAYRUB_HOST_DEVICE(int64_t channel, Dtype sum) { dscale[channel] += sum; });
    return;
  }
  const int64_t length = s.channels * s.inner;
  ParallelReduce<Dtype>(
      context, s.outer, length,
      [=] LAYRUB_HOST_DEVICE(int64_t item, int64_t at) {
        const int64_t i = item * length + at;
        return dy[i] * x[i] * inverse[NormOf(s, i)];
      },
      [=] LAYRUB_HOST_DEVICE(int64_t item, Dtype sum) { workspace[item] = sum; });
  ParallelReduce<Dtype>(
      context, 1, s.outer, [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return workspace[i]; },
      [=] LAYRUB_HOST_DEVICE(int64_t, Dtype sum) { *dscale += sum; });
}

#define INSTANTIATE(Dtype)                                                                       \
  template void InverseL2Norms<Dtype>(const DeviceContext&, const L2Shape&, Dtype, const Dtype*, \
                                      Dtype*);                                                   \
  template void L2NormalizeForward<Dtype>(const DeviceContext&, const L2Shape&, const Dtype*,    \
                                          const Dtype*, const Dtype*, Dtype*, Dtype*);           \
  template void L2NormalizeBackward<Dtype>(const DeviceContext&, const L2Shape&, const Dtype*,   \
                                           const Dtype*, const Dtype*, const Dtype*, Dtype*,     \
                                           Dtype*);                                              \
  template void L2ScaleGradient<Dtype>(const DeviceContext&, const L2Shape&, const Dtype*,       \
                                       const Dtype*, const Dtype*, Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
