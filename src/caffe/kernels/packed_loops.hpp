#ifndef CAFFE_KERNELS_PACKED_LOOPS_HPP_
#define CAFFE_KERNELS_PACKED_LOOPS_HPP_

// Loops that write and read packed codes.

#include "caffe/kernels/packed_codes.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

/// y = value(x); code(x), of kBits bits, goes to `codes` unless that is null. y may lie on x.
template <int kBits, typename Dtype, typename Value, typename Code>
void ForwardWithCodes(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y,
                      uint8_t* codes, Value value, Code code) {
  if (codes == nullptr) {
    ParallelFor(
        context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return value(x[i]); }, To{y});
    return;
  }
  constexpr int kPerByte = 8 / kBits;
  // A byte may hold codes of two channels: this loop does not fuse.
  FusedLoops::FinishCurrent();
  const FusedLoops::Scope alone(nullptr, {});
  ParallelForHeavy(context, PackedBytes(n, kBits), kPerByte, [=] LAYRUB_HOST_DEVICE(int64_t byte) {
    const int64_t begin = byte * kPerByte;
    const int64_t end = begin + kPerByte < n ? begin + kPerByte : n;
    unsigned bits = 0;
    for (int64_t i = begin; i < end; ++i) {
      const Dtype v = x[i];
      bits |= code(v) << kBits * (i - begin);
      y[i] = value(v);
    }
    codes[byte] = static_cast<uint8_t>(bits);
  });
}

/// Code i.
template <int kBits>
LAYRUB_HOST_DEVICE inline unsigned CodeAt(const uint8_t* codes, int64_t i) {
  constexpr int kPerByte = 8 / kBits;
  return codes[i / kPerByte] >> kBits * (i % kPerByte) & ((1u << kBits) - 1);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_PACKED_LOOPS_HPP_
