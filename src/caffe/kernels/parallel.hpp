#ifndef CAFFE_KERNELS_PARALLEL_HPP_
#define CAFFE_KERNELS_PARALLEL_HPP_

// The loops that every kernel is made of. A kernel is a free function template over raw
// pointers in a plain .cpp; the same text is compiled by g++/clang for the CPU and by nvcc for both
// devices. Bodies are lambdas that capture by value: [=] LAYRUB_HOST_DEVICE (int64_t i) { ... };
// they must not sit in a protected or private method (nvcc).

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/kernels/host_device.hpp"
#include "caffe/kernels/interleaved_sums.hpp"
#include "caffe/kernels/launch.hpp"
#include "caffe/kernels/partial_sums.hpp"
#include "caffe/util/deferred_work.hpp"
#include "caffe/util/threads.hpp"

#if !defined(CPU_ONLY) && !defined(__CUDACC__) && !defined(LAYRUB_LAUNCH_ON_HOST)
#error \
    "With CUDA on, kernels are compiled by nvcc only: two compilers must not instantiate the same launcher."
#endif

namespace caffe {
namespace kernels {

/// CPU loops of at most this many elements run on one thread.
inline constexpr int64_t kGrain = 16384;

/// A store function for an array: to[i] = value.
template <typename T>
struct To {
  T* to;
  LAYRUB_HOST_DEVICE void operator()(int64_t i, T value) const { to[i] = value; }
};
template <typename T>
To(T*) -> To<T>;

#if LAYRUB_LAUNCHES
template <typename Body>
__global__ void __launch_bounds__(kBlock) ForKernel(int64_t n, Body body) {
  const int64_t stride = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) body(i);
}

/// Number of loads that a thread issues at once.
inline constexpr int kElementsPerThread = 4;

/// Each block takes `length` elements, kBlock or kElementsPerThread * kBlock. A thread's elements
/// are kBlock apart, so that a warp loads neighbouring elements. A thread computes all values
/// before it stores the first: the compiler, which must assume that arrays overlap, does not move a
/// load before a store.
template <typename Value, typename Store>
__global__ void __launch_bounds__(kBlock)
    MapKernel(int64_t n, int64_t length, Value value, Store store) {
  for (int64_t begin = blockIdx.x * length; begin < n; begin += gridDim.x * length) {
    const int64_t end = begin + length < n ? begin + length : n;
    int64_t i = begin + threadIdx.x;
    if (end - begin == kElementsPerThread * kBlock) {
      decltype(value(i)) values[kElementsPerThread];
      for (int k = 0; k < kElementsPerThread; ++k) values[k] = value(i + k * kBlock);
      for (int k = 0; k < kElementsPerThread; ++k) store(i + k * kBlock, values[k]);
      continue;
    }
    for (; i < end; i += kBlock) store(i, value(i));
  }
}

/// Uses `parts` blocks for a row. Each block sums some of the row's elements.
template <typename T, typename Map, typename Store>
__global__ void __launch_bounds__(kBlock) ReduceKernel(int64_t n, int parts, Map map, Store store) {
  __shared__ T partial[kBlock];
  const int64_t row = blockIdx.x / parts, step = int64_t{parts} * kBlock;
  int64_t i = int64_t{blockIdx.x % parts} * kBlock + threadIdx.x;
  T sum{};
  for (; i + (kElementsPerThread - 1) * step < n; i += kElementsPerThread * step) {
    T values[kElementsPerThread];
    for (int k = 0; k < kElementsPerThread; ++k) values[k] = map(row, i + k * step);
    sum += (values[0] + values[1]) + (values[2] + values[3]);
  }
  for (; i < n; i += step) sum += map(row, i);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) store(blockIdx.x, partial[0]);
}

template <typename T>
struct SummedPart {
  const T* sums;
  int parts;
  LAYRUB_HOST_DEVICE T operator()(int64_t row, int64_t part) const {
    return sums[row * parts + part];
  }
};

/// Uses one kernel, or two if there are fewer rows than a large GPU runs blocks: the first sums
/// parts of the rows, the second adds the parts. The parts depend only on the sizes.
template <typename T, typename Map, typename Store>
void LaunchReduce(const DeviceContext& context, int64_t rows, int64_t n, Map map, Store store) {
  const int64_t most = kFullGrid / rows, useful = n / kMinPart;
  const auto parts = static_cast<int>(most < useful ? most : useful);
  if (parts < 2) {
    Launch(context, Barriers::kSome, rows, kBlock, ReduceKernel<T, Map, Store>, n, 1, map, store);
    return;
  }
  static_assert(sizeof(T) <= kPartBytes, "the memory for parts is too small");
  const PartialSums memory(context, rows * parts * static_cast<int64_t>(sizeof(T)));
  T* const sums = static_cast<T*>(memory.memory());
  Launch(context, Barriers::kSome, rows * parts, kBlock, ReduceKernel<T, Map, To<T>>, n, parts, map,
         To<T>{sums});
  Launch(context, Barriers::kSome, rows, kBlock, ReduceKernel<T, SummedPart<T>, Store>,
         int64_t{parts}, 1, SummedPart<T>{sums, parts}, store);
}
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__)
/// The loop over [begin, end), compiled for AVX2 whatever the build's target, including everything
/// that `body` calls. It gives the same bits as Loop, because products and sums are not contracted.
template <typename Body>
__attribute__((target("avx2"), flatten)) void WideLoop(const void* body, int64_t begin,
                                                       int64_t end) {
  const Body run = *static_cast<const Body*>(body);
  for (int64_t i = begin; i < end; ++i) run(i);
}
inline bool HasWideLoops() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#else
template <typename Body>
void WideLoop(const void*, int64_t, int64_t) {}
inline bool HasWideLoops() { return false; }
#endif

/// The loop over [begin, end). The body is copied, so that the compiler knows that stores do not
/// change its members.
template <typename Body>
void Loop(const void* body, int64_t begin, int64_t end) {
  const Body run = *static_cast<const Body*>(body);
  for (int64_t i = begin; i < end; ++i) run(i);
}

/// Calls body(i) for every i in [begin, end), in index order.
template <typename Body>
void RunBody(const Body& body, int64_t begin, int64_t end) {
  (HasWideLoops() ? WideLoop<Body> : Loop<Body>)(&body, begin, end);
}

/// Calls body(i) for every i in [0, n), in index order within a thread; on one thread unless
/// `parallel`.
template <typename Body>
void HostFor(int64_t n, bool parallel, const Body& body) {
  DeferredWork::FinishCurrent();
  RunLoop(n, parallel, &body, HasWideLoops() ? WideLoop<Body> : Loop<Body>);
}

/// Calls body(i) for every i in [0, n), in any order, possibly concurrently. Writes of different i
/// must not overlap.
template <typename Body>
void ParallelFor(const DeviceContext& context, int64_t n, Body body) {
  if (n <= 0) return;
#if LAYRUB_LAUNCHES
  if (context.launch) {
    const int64_t blocks = (n + kBlock - 1) / kBlock;
    Launch(context, Barriers::kNone, blocks < kMaxBlocks ? blocks : kMaxBlocks, kBlock,
           ForKernel<Body>, n, body);
    return;
  }
#endif
  const HostKernel scope(context);
  HostFor(n, n > kGrain, body);
}

/// Calls store(i, value(i)) for every i in [0, n), like ParallelFor. value(i) must not read what
/// store writes for another i, since a GPU reads several elements before it writes. For elementwise
/// loops.
template <typename Value, typename Store>
void ParallelFor(const DeviceContext& context, int64_t n, Value value, Store store) {
  if (n <= 0) return;
#if LAYRUB_LAUNCHES
  if (context.launch) {
    // Several elements per thread only if there are still enough blocks to fill a large GPU.
    const int64_t length =
        n >= kFullGrid * kBlock * kElementsPerThread ? kBlock * kElementsPerThread : kBlock;
    const int64_t blocks = (n + length - 1) / length;
    Launch(context, Barriers::kNone, blocks < kMaxBlocks ? blocks : kMaxBlocks, kBlock,
           MapKernel<Value, Store>, n, length, value, store);
    return;
  }
#endif
  const HostKernel scope(context);
  HostFor(n, n > kGrain, [=](int64_t i) { store(i, value(i)); });
}

/// ParallelFor over few but heavy items (rows, images, channels): uses several threads for two or
/// more items if n * cost_per_item is large.
template <typename Body>
void ParallelForHeavy(const DeviceContext& context, int64_t n, int64_t cost_per_item, Body body) {
#if LAYRUB_LAUNCHES
  if (context.launch) {
    ParallelFor(context, n, body);
    return;
  }
#endif
  const HostKernel scope(context);
  HostFor(n, n > 1 && n * cost_per_item > kGrain, body);
}

/// For each row in [0, rows), calls store(row, sum over i in [0, n) of map(row, i)). The sum is
/// accumulated in T, whose T{} is zero. Its order never depends on the number of threads, so
/// results are reproducible on a given device.
template <typename T, typename Map, typename Store>
void ParallelReduce(const DeviceContext& context, int64_t rows, int64_t n, Map map, Store store) {
  if (rows <= 0) return;
#if LAYRUB_LAUNCHES
  if (context.launch) {
    LaunchReduce<T>(context, rows, n, map, store);
    return;
  }
#endif
  const HostKernel scope(context);
  HostFor(rows, rows > 1 && rows * n > kGrain, [=](int64_t row) {
    InterleavedSums<T> sums;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      for (int k = 0; k < 8; ++k) sums.Add(k, map(row, i + k));
    }
    for (int k = 0; i < n; ++i, ++k) sums.Add(k, map(row, i));
    store(row, sums.Total());
  });
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_PARALLEL_HPP_
