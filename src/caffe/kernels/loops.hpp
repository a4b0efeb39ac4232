#ifndef CAFFE_KERNELS_LOOPS_HPP_
#define CAFFE_KERNELS_LOOPS_HPP_

// Loops over arrays of two and three axes, made of those in parallel.hpp.

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

/// body(row, column) for all rows and columns, in any order, possibly at the same time: rows are
/// shared among the CPU's threads, on a GPU each pair has a thread of its own.
template <typename Body>
void ParallelForRows(const DeviceContext& context, int64_t rows, int64_t columns, Body body) {
#if LAYRUB_LAUNCHES
  if (context.launch) {
    ParallelFor(context, rows * columns,
                [=] LAYRUB_HOST_DEVICE(int64_t i) { body(i / columns, i % columns); });
    return;
  }
#endif
  ParallelForHeavy(context, rows, columns, [=] LAYRUB_HOST_DEVICE(int64_t row) {
    for (int64_t column = 0; column < columns; ++column) body(row, column);
  });
}

/// body(row, begin, end) for segments [begin, end) that make up every row, in any order, possibly
/// at the same time: whole rows on the CPU, so that what a row's columns have in common is done
/// once; single columns on a GPU.
template <typename Body>
void ParallelForSegments(const DeviceContext& context, int64_t rows, int columns,
                         int64_t cost_per_row, Body body) {
#if LAYRUB_LAUNCHES
  if (context.launch) {
    ParallelFor(context, rows * columns, [=] LAYRUB_HOST_DEVICE(int64_t i) {
      const int column = static_cast<int>(i % columns);
      body(i / columns, column, column + 1);
    });
    return;
  }
#endif
  ParallelForHeavy(context, rows, cost_per_row,
                   [=] LAYRUB_HOST_DEVICE(int64_t row) { body(row, 0, columns); });
}

#if LAYRUB_LAUNCHES
template <typename T, typename Map, typename Store>
__global__ void __launch_bounds__(kChannelBlock)
    ChannelKernel(int64_t outer, int64_t inner, Map map, Store store) {
  __shared__ T partial[kChannelBlock];
  const int64_t channels = gridDim.x, channel = blockIdx.x;
  T sum{};
  // Row by row of the threads where a row is long, so that they divide once for many elements.
  const int64_t n = outer * inner, step = kChannelBlock;
  int64_t o = threadIdx.x / inner, i = threadIdx.x - o * inner;
  for (int64_t at = threadIdx.x; at < n; at += step) {
    sum += map(channel, (o * channels + channel) * inner + i);
    i += step;
    if (i >= inner) {
      const int64_t rows = i < 2 * inner ? 1 : i / inner;
      o += rows;
      i -= rows * inner;
    }
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = kChannelBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) store(channel, partial[0]);
}
#endif

// What ForChannels does with each channel of an outer x channels x inner array, `element` an index
// into the whole array.

/// store(channel, sum over the channel's elements of map(channel, element)). The order of the sum
/// depends on the sizes alone.
template <typename T, typename Map, typename Store>
struct ChannelSum {
  Map map;
  Store store;
  bool wanted = true;
};
template <typename T, typename Map, typename Store>
ChannelSum<T, Map, Store> SumOf(Map map, Store store, bool wanted = true) {
  return {map, store, wanted};
}

/// body(channel, element) for each element.
template <typename Body>
struct ChannelEach {
  Body body;
  bool wanted = true;
};
template <typename Body>
ChannelEach<Body> EachOf(Body body, bool wanted = true) {
  return {body, wanted};
}

template <typename T, typename Map, typename Store>
void RunOnChannel(const ChannelSum<T, Map, Store>& step, int64_t outer, int64_t channels,
                  int64_t inner, int64_t channel) {
  if (!step.wanted) return;
  // Eight interleaved partial sums: fast, and more accurate than one.
  T sums[8] = {};
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t first = (o * channels + channel) * inner;
    int64_t i = 0;
    for (; i + 8 <= inner; i += 8) {
      for (int k = 0; k < 8; ++k) sums[k] += step.map(channel, first + i + k);
    }
    for (int k = 0; i < inner; ++i, ++k) sums[k] += step.map(channel, first + i);
  }
  step.store(channel, ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                          ((sums[4] + sums[5]) + (sums[6] + sums[7])));
}

template <typename Body>
void RunOnChannel(const ChannelEach<Body>& step, int64_t outer, int64_t channels, int64_t inner,
                  int64_t channel) {
  if (!step.wanted) return;
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t first = (o * channels + channel) * inner;
    for (int64_t i = first; i < first + inner; ++i) step.body(channel, i);
  }
}

#if LAYRUB_LAUNCHES
template <typename T, typename Map, typename Store>
void LaunchStep(const DeviceContext& context, const ChannelSum<T, Map, Store>& step, int64_t outer,
                int64_t channels, int64_t inner) {
  if (!step.wanted || channels <= 0) return;
  const int64_t rows = inner > 0 ? outer : 0, row = inner > 0 ? inner : 1;
  Launch(context, Barriers::kSome, channels, kChannelBlock, ChannelKernel<T, Map, Store>, rows, row,
         step.map, step.store);
}

template <typename Body>
void LaunchStep(const DeviceContext& context, const ChannelEach<Body>& step, int64_t outer,
                int64_t channels, int64_t inner) {
  if (!step.wanted) return;
  const Body body = step.body;
  ParallelFor(context, outer * channels * inner,
              [=] LAYRUB_HOST_DEVICE(int64_t i) { body(i / inner % channels, i); });
}
#endif

/// Does `steps` one after the other with each channel, of an outer x channels x inner array; those
/// after the first may read what the ones before have stored for that channel. On the CPU threads
/// share the channels, and do all steps with one before they go on to the next: what a step reads
/// again is still in the cache. On a GPU each step is a launch.
template <typename... Steps>
void ForChannels(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                 const Steps&... steps) {
#if LAYRUB_LAUNCHES
  if (context.launch) {
    (LaunchStep(context, steps, outer, channels, inner), ...);
    return;
  }
#endif
  if (channels <= 0) return;
  const HostKernel scope(context);
  HostFor(channels, channels > 1 && channels * outer * inner > kGrain,
          [=](int64_t channel) { (RunOnChannel(steps, outer, channels, inner, channel), ...); });
}

/// ForChannels of one sum.
template <typename T, typename Map, typename Store>
void ReduceChannels(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                    Map map, Store store) {
  ForChannels(context, outer, channels, inner, SumOf<T>(map, store));
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOOPS_HPP_
