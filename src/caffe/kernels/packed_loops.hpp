#ifndef CAFFE_KERNELS_PACKED_LOOPS_HPP_
#define CAFFE_KERNELS_PACKED_LOOPS_HPP_

// Loops that write and read packed codes.

#include "caffe/kernels/packed_codes.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

#if LAYRUB_LAUNCHES
/// Each block takes kElementsPerThread * kBlock elements and collects their codes in shared memory.
/// So neighbouring threads access neighbouring elements and write neighbouring bytes.
template <int kBits, typename Dtype, typename Source, typename Value, typename Code>
__global__ void __launch_bounds__(kBlock)
    CodeKernel(int64_t n, Dtype* y, uint8_t* codes, Source x, Value value, Code code) {
  constexpr int kPerByte = 8 / kBits, kLength = kElementsPerThread * kBlock;
  static_assert(kLength % kPerByte == 0, "a byte has codes of one block");
  __shared__ uint8_t found[kLength];
  const int at = static_cast<int>(threadIdx.x);
  for (int64_t begin = int64_t{blockIdx.x} * kLength; begin < n;
       begin += int64_t{gridDim.x} * kLength) {
    Dtype values[kElementsPerThread];
    for (int k = 0; k < kElementsPerThread; ++k) {
      const int64_t i = begin + k * kBlock + at;
      values[k] = i < n ? x(i) : Dtype(0);
    }
    for (int k = 0; k < kElementsPerThread; ++k) {
      const int64_t i = begin + k * kBlock + at;
      if (i < n) y[i] = value(values[k]);
      found[k * kBlock + at] = static_cast<uint8_t>(i < n ? code(values[k]) : 0);
    }
    __syncthreads();
    for (int byte = at; byte < kLength / kPerByte; byte += kBlock) {
      if (begin + byte * kPerByte >= n) break;
      unsigned bits = 0;
      for (int k = 0; k < kPerByte; ++k) bits |= unsigned{found[byte * kPerByte + k]} << kBits * k;
      codes[begin / kPerByte + byte] = static_cast<uint8_t>(bits);
    }
    __syncthreads();
  }
}
#endif

/// Sets y[i] = value(x(i)) and stores code(x(i)), of kBits bits, in `codes` unless that is null.
/// x(i) may read the memory of y[i].
template <int kBits, typename Dtype, typename Source, typename Value, typename Code>
void ForwardWithCodes(const DeviceContext& context, int64_t n, Dtype* y, uint8_t* codes, Source x,
                      Value value, Code code) {
  if (codes == nullptr) {
    ParallelFor(
        context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return value(x(i)); }, To{y});
    return;
  }
#if LAYRUB_LAUNCHES
  if (context.launch) {
    if (n <= 0) return;
    const int64_t blocks = (n + kElementsPerThread * kBlock - 1) / (kElementsPerThread * kBlock);
    Launch(context, Barriers::kSome, blocks < kMaxBlocks ? blocks : kMaxBlocks, kBlock,
           CodeKernel<kBits, Dtype, Source, Value, Code>, n, y, codes, x, value, code);
    return;
  }
#endif
  constexpr int kPerByte = 8 / kBits;
  ParallelForHeavy(context, PackedBytes(n, kBits), kPerByte, [=] LAYRUB_HOST_DEVICE(int64_t byte) {
    const int64_t begin = byte * kPerByte;
    const int64_t end = begin + kPerByte < n ? begin + kPerByte : n;
    unsigned bits = 0;
    for (int64_t i = begin; i < end; ++i) {
      const Dtype v = x(i);
      bits |= code(v) << kBits * (i - begin);
      y[i] = value(v);
    }
    codes[byte] = static_cast<uint8_t>(bits);
  });
}

/// The values of an array.
template <typename Dtype>
struct ValuesOf {
  const Dtype* values;
  LAYRUB_HOST_DEVICE Dtype operator()(int64_t i) const { return values[i]; }
};
/// ForwardWithCodes for an array x; y may alias x.
template <int kBits, typename Dtype, typename Value, typename Code>
void ForwardWithCodes(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y,
                      uint8_t* codes, Value value, Code code) {
  ForwardWithCodes<kBits>(context, n, y, codes, ValuesOf<Dtype>{x}, value, code);
}

/// Returns code i.
template <int kBits>
LAYRUB_HOST_DEVICE inline unsigned CodeAt(const uint8_t* codes, int64_t i) {
  constexpr int kPerByte = 8 / kBits;
  return codes[i / kPerByte] >> kBits * (i % kPerByte) & ((1u << kBits) - 1);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_PACKED_LOOPS_HPP_
