#ifndef CAFFE_KERNELS_LOOPS_HPP_
#define CAFFE_KERNELS_LOOPS_HPP_

// Loops over arrays of two and three axes, built on those in parallel.hpp.

#include <type_traits>

#include "caffe/kernels/divider.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/require.hpp"
#include "caffe/util/channel_shape.hpp"

namespace caffe {
namespace kernels {

inline constexpr char kBlocksOnHostOnly[] = "Channels lie in blocks in memory of the host alone.";
inline constexpr char kBlockSizes[] = "Blocks have 1, 8 or 16 channels.";

/// Calls body(row, column) for all rows and columns, in any order, possibly concurrently. On the
/// CPU the threads share the rows; on a GPU each pair has its own thread.
template <typename Body>
void ParallelForRows(const DeviceContext& context, int64_t rows, int64_t columns, Body body) {
#if LAYRUB_LAUNCHES
  if (context.launch) {
    const Divider row_of(columns);
    ParallelFor(context, rows * columns, [=] LAYRUB_HOST_DEVICE(int64_t i) {
      const int64_t row = row_of(i);
      body(row, i - row * columns);
    });
    return;
  }
#endif
  ParallelForHeavy(context, rows, columns, [=] LAYRUB_HOST_DEVICE(int64_t row) {
    for (int64_t column = 0; column < columns; ++column) body(row, column);
  });
}

/// Calls body(row, begin, end) for segments [begin, end) that together cover every row, in any
/// order, possibly concurrently. On the CPU a segment is a whole row, so that work shared by a
/// row's columns is done once; on a GPU it is a single column.
template <typename Body>
void ParallelForSegments(const DeviceContext& context, int64_t rows, int columns,
                         int64_t cost_per_row, Body body) {
#if LAYRUB_LAUNCHES
  if (context.launch) {
    const Divider row_of(columns);
    ParallelFor(context, rows * columns, [=] LAYRUB_HOST_DEVICE(int64_t i) {
      const int64_t row = row_of(i);
      const int column = static_cast<int>(i - row * columns);
      body(row, column, column + 1);
    });
    return;
  }
#endif
  ParallelForHeavy(context, rows, cost_per_row,
                   [=] LAYRUB_HOST_DEVICE(int64_t row) { body(row, 0, columns); });
}

/// The channel of an element of an outer x channels x inner array.
class ChannelOf {
 public:
  ChannelOf(int64_t channels, int64_t inner)
      : row_of_(inner), item_of_(channels), channels_(channels) {}
  LAYRUB_HOST_DEVICE int64_t operator()(int64_t element) const {
    const int64_t row = row_of_(element);
    return row - item_of_(row) * channels_;
  }

 private:
  Divider row_of_, item_of_;
  int64_t channels_;
};

/// The new value of an element, and the copy that is saved.
template <typename Dtype>
struct ValueAndCopy {
  Dtype value, copy;
};
template <typename Dtype>
struct ToBoth {
  Dtype *to, *copy;  ///< copy: null if not wanted
  LAYRUB_HOST_DEVICE void operator()(int64_t i, const ValueAndCopy<Dtype>& made) const {
    if (copy != nullptr) copy[i] = made.copy;
    to[i] = made.value;
  }
};
template <typename Dtype>
ToBoth(Dtype*, Dtype*) -> ToBoth<Dtype>;

// A loop over the lanes of a block that must be vectorized. Without the pragma GCC unrolls it
// before it vectorizes, and conditions in the body stay branches.
#if defined(__clang__) || defined(__CUDACC__)
#define LAYRUB_FOR_LANES(lane, lanes) for (int lane = 0; lane < (lanes); ++lane)
#else
#define LAYRUB_FOR_LANES(lane, lanes) _Pragma("omp simd") for (int lane = 0; lane < (lanes); ++lane)
#endif

/// Calls store(i + lane, value(lane)) for kLanes lanes. Computes all values before it stores the
/// first: otherwise the compiler, which must assume that arrays overlap, would not vectorize.
template <int kLanes, typename Value, typename Store>
void StoreLanes(int64_t i, const Value& value, const Store& store) {
  decltype(value(0)) values[kLanes];
  LAYRUB_FOR_LANES(lane, kLanes) values[lane] = value(lane);
  for (int lane = 0; lane < kLanes; ++lane) store(i + lane, values[lane]);
}

template <int kLanes, typename Value, typename Dtype>
void StoreLanes(int64_t i, const Value& value, const ToBoth<Dtype>& store) {
  Dtype values[kLanes], copies[kLanes];
  LAYRUB_FOR_LANES(lane, kLanes) {
    const ValueAndCopy<Dtype> made = value(lane);
    values[lane] = made.value, copies[lane] = made.copy;
  }
  if (store.copy != nullptr) {
    for (int lane = 0; lane < kLanes; ++lane) store.copy[i + lane] = copies[lane];
  }
  for (int lane = 0; lane < kLanes; ++lane) store.to[i + lane] = values[lane];
}

/// ParallelForChannels on the CPU, for channels in blocks of kBlock.
template <int kBlock, typename Value, typename Store>
void HostParallelForChannels(const DeviceContext& context, const ChannelShape& shape, Value value,
                             Store store) {
  const HostKernel scope(context);
  const int64_t blocks = shape.channels / kBlock, rows = shape.outer * blocks;
  const int64_t length = shape.inner * kBlock;
  HostFor(rows, rows > 1 && rows * length > kGrain, [=](int64_t row) {
    const int64_t channel = row % blocks * kBlock, end = (row + 1) * length;
    for (int64_t i = row * length; i < end; i += kBlock) {
      StoreLanes<kBlock>(
          i, [&](int lane) { return value(channel + lane, i + lane); }, store);
    }
  });
}

/// Calls store(i, value(channel, i)) for each element i of an array of `shape`, like
/// ParallelFor(context, n, value, store). On a GPU shape.block must be 1.
template <typename Value, typename Store>
void ParallelForChannels(const DeviceContext& context, const ChannelShape& shape, Value value,
                         Store store) {
#if LAYRUB_LAUNCHES
  if (context.launch) {
    Require(shape.block == 1, kBlocksOnHostOnly);
    const ChannelOf channel_of(shape.channels, shape.inner);
    ParallelFor(
        context, shape.outer * shape.channels * shape.inner,
        [=] LAYRUB_HOST_DEVICE(int64_t i) { return value(channel_of(i), i); }, store);
    return;
  }
#endif
  if (shape.channels <= 0) return;
  if (shape.block == 1) return HostParallelForChannels<1>(context, shape, value, store);
  if (shape.block == 8) return HostParallelForChannels<8>(context, shape, value, store);
  Require(shape.block == 16, kBlockSizes);
  HostParallelForChannels<16>(context, shape, value, store);
}
/// ParallelForChannels for an outer x channels x inner array without blocks. Compiles to less code.
template <typename Value, typename Store>
void ParallelForChannels(const DeviceContext& context, int64_t outer, int64_t channels,
                         int64_t inner, Value value, Store store) {
  const ChannelShape shape{outer, channels, inner};
#if LAYRUB_LAUNCHES
  if (context.launch) return ParallelForChannels(context, shape, value, store);
#endif
  if (channels > 0) HostParallelForChannels<1>(context, shape, value, store);
}

// The steps that ForChannels runs for each channel of an array of a ChannelShape; `element` is an
// index into the whole array. value(channel, element) may be replaced by an object with a member
// Of<n>(channel). It returns a function value(lane, element) for the n channels that start at
// `channel` (lane 0), so that data shared by a channel's elements is loaded once.

/// Adapts map(channel, element) to lanes.
template <typename Map>
struct MapOfChannels {
  const Map& map;
  int64_t channel;
  LAYRUB_HOST_DEVICE auto operator()(int lane, int64_t i) const { return map(channel + lane, i); }
};
template <int kLanes, typename Map>
LAYRUB_HOST_DEVICE auto OfChannels(const Map& map, int64_t channel) {
  if constexpr (requires { map.template Of<kLanes>(channel); }) {
    return map.template Of<kLanes>(channel);
  } else {
    return MapOfChannels<Map>{map, channel};
  }
}

/// Calls store(channel, sum over the channel's elements of map(channel, element)). The order of
/// summation depends only on the sizes.
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

/// Calls store(channel, mean, variance) with the moments of value(channel, element); the variance
/// is the mean squared deviation. Takes two passes on the CPU, one on a GPU.
template <typename Dtype, typename Value, typename Store>
struct ChannelMoments {
  Value value;
  Store store;
};
template <typename Dtype, typename Value, typename Store>
ChannelMoments<Dtype, Value, Store> MomentsOf(Value value, Store store) {
  return {value, store};
}

/// Calls store(element, value(channel, element)) for each element. No value may read what is stored
/// for another element.
template <typename Value, typename Store>
struct ChannelEach {
  Value value;
  Store store;
  bool wanted = true;
};
template <typename Value, typename Store>
ChannelEach<Value, Store> EachOf(Value value, Store store, bool wanted = true) {
  return {value, store, wanted};
}

/// kLanes adjacent channels of an array whose blocks have kBlock channels.
template <int kLanes, int kBlock>
struct ChannelLanes {
  const ChannelShape& shape;
  int64_t channel;  ///< the first of them

  /// The index of the first channel's first value in `item`. Its next value is kBlock further on.
  int64_t Begin(int64_t item) const {
    const int64_t lane = channel % kBlock;
    return (item * shape.channels + channel - lane) * shape.inner + lane;
  }
};

/// Calls store(channel, sum over the channel's elements of map(lane, element)) for these channels.
template <typename T, int kLanes, int kBlock, typename LaneMap, typename Store>
void SumOfChannels(const ChannelLanes<kLanes, kBlock>& of, const LaneMap& map, const Store& store) {
  InterleavedSums<T, kLanes> sums;
  const auto add = [&](int place, int64_t at) {
    // Computes all values before it adds the first, as in StoreLanes.
    T values[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) values[lane] = map(lane, at + lane);
    for (int lane = 0; lane < kLanes; ++lane) sums.Add(place, lane, values[lane]);
  };
  for (int64_t item = 0; item < of.shape.outer; ++item) {
    const int64_t begin = of.Begin(item);
    int64_t i = 0;
    for (; i + 8 <= of.shape.inner; i += 8) {
      for (int k = 0; k < 8; ++k) add(k, begin + (i + k) * kBlock);
    }
    for (int k = 0; i < of.shape.inner; ++i, ++k) add(k, begin + i * kBlock);
  }
  for (int lane = 0; lane < kLanes; ++lane) store(of.channel + lane, sums.Total(lane));
}

template <int kLanes, int kBlock, typename T, typename Map, typename Store>
void RunOnChannels(const ChannelSum<T, Map, Store>& step, const ChannelLanes<kLanes, kBlock>& of) {
  if (!step.wanted) return;
  SumOfChannels<T>(of, OfChannels<kLanes>(step.map, of.channel), step.store);
}

template <int kLanes, int kBlock, typename Dtype, typename Value, typename Store>
void RunOnChannels(const ChannelMoments<Dtype, Value, Store>& step,
                   const ChannelLanes<kLanes, kBlock>& of) {
  const auto count = static_cast<Dtype>(of.shape.PerChannel());
  const auto value = OfChannels<kLanes>(step.value, of.channel);
  Dtype means[kLanes];
  SumOfChannels<Dtype>(of, value,
                       [&](int64_t c, Dtype sum) { means[c - of.channel] = sum / count; });
  const auto squared_deviation = [&](int lane, int64_t i) {
    const Dtype deviation = value(lane, i) - means[lane];
    return deviation * deviation;
  };
  SumOfChannels<Dtype>(of, squared_deviation, [&](int64_t c, Dtype sum) {
    step.store(c, means[c - of.channel], sum / count);
  });
}

template <int kLanes, int kBlock, typename Value, typename Store>
void RunOnChannels(const ChannelEach<Value, Store>& step, const ChannelLanes<kLanes, kBlock>& of) {
  if (!step.wanted) return;
  const auto value = OfChannels<kLanes>(step.value, of.channel);
  for (int64_t item = 0; item < of.shape.outer; ++item) {
    const int64_t begin = of.Begin(item), end = begin + of.shape.inner * kBlock;
    for (int64_t i = begin; i < end; i += kBlock) {
      StoreLanes<kLanes>(
          i, [&](int lane) { return value(lane, i + lane); }, step.store);
    }
  }
}

#if LAYRUB_LAUNCHES
template <typename T, typename Map, typename Store>
void LaunchStep(const DeviceContext& context, const ChannelSum<T, Map, Store>& step, int64_t outer,
                int64_t channels, int64_t inner) {
  if (!step.wanted || channels <= 0) return;
  const Map map = step.map;
  const Divider item_of(inner);
  LaunchReduce<T>(
      context, channels, outer * inner,
      [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
        // Element i of the channel; each item of the array has `inner` of them.
        return OfChannels<1>(map, channel)(0, i + (item_of(i) * (channels - 1) + channel) * inner);
      },
      step.store);
}

/// The count, the mean and the sum of squared deviations of some values. The moments of two groups
/// are combined (Chan, Golub and LeVeque 1979) without a difference of large sums, however far the
/// mean is from zero.
template <typename Dtype>
struct Moments {
  Dtype count, mean, squares;
  LAYRUB_HOST_DEVICE Moments operator+(const Moments& other) const {
    const Dtype both = count + other.count;
    const Dtype share = both > 0 ? other.count / both : Dtype(0);
    const Dtype distance = other.mean - mean;
    return {both, mean + share * distance,
            squares + other.squares + distance * distance * (count * share)};
  }
  LAYRUB_HOST_DEVICE Moments& operator+=(const Moments& other) { return *this = *this + other; }
};

template <typename Dtype, typename Value, typename Store>
void LaunchStep(const DeviceContext& context, const ChannelMoments<Dtype, Value, Store>& step,
                int64_t outer, int64_t channels, int64_t inner) {
  const Value value = step.value;
  const Store store = step.store;
  const auto count = static_cast<Dtype>(outer * inner);
  // Works on differences from the channel's first value. They are small even if the mean is far
  // from zero, so that little is lost by rounding.
  const auto map = [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
    return Moments<Dtype>{1, value(channel, i) - value(channel, channel * inner), 0};
  };
  const auto store_moments = [=] LAYRUB_HOST_DEVICE(int64_t channel, const Moments<Dtype>& found) {
    if (count > 0)
      store(channel, value(channel, channel * inner) + found.mean, found.squares / count);
  };
  LaunchStep(context, SumOf<Moments<Dtype>>(map, store_moments), outer, channels, inner);
}

template <typename Value, typename Store>
void LaunchStep(const DeviceContext& context, const ChannelEach<Value, Store>& step, int64_t outer,
                int64_t channels, int64_t inner) {
  if (!step.wanted) return;
  const Value value = step.value;
  ParallelForChannels(
      context, outer, channels, inner,
      [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
        return OfChannels<1>(value, channel)(0, i);
      },
      step.store);
}
#endif

/// ForChannels on the CPU; each thread takes kLanes channels at a time.
template <int kLanes, int kBlock, typename... Steps>
void HostForChannels(const DeviceContext& context, const ChannelShape& shape,
                     const Steps&... steps) {
  const HostKernel scope(context);
  const int64_t tasks = shape.channels / kLanes;
  HostFor(tasks, tasks > 1 && shape.channels * shape.PerChannel() > kGrain, [=](int64_t task) {
    (RunOnChannels(steps, ChannelLanes<kLanes, kBlock>{shape, task * kLanes}), ...);
  });
}

/// Runs `steps` in order on each channel of an array of `shape`. A step may read what earlier steps
/// stored for the same channel. On the CPU the threads share the channels, and a thread runs all
/// steps on one channel (or some channels of a block) before the next, so that the data is still in
/// the cache. A channel's results have the same bits for every block size. On a GPU each step is
/// one launch, and shape.block must be 1.
template <typename... Steps>
void ForChannels(const DeviceContext& context, const ChannelShape& shape, const Steps&... steps) {
#if LAYRUB_LAUNCHES
  if (context.launch) {
    Require(shape.block == 1, kBlocksOnHostOnly);
    (LaunchStep(context, steps, shape.outer, shape.channels, shape.inner), ...);
    return;
  }
#endif
  if (shape.channels <= 0) return;
  if (shape.block == 1) return HostForChannels<1, 1>(context, shape, steps...);
  if (shape.block == 8) return HostForChannels<8, 8>(context, shape, steps...);
  Require(shape.block == 16, kBlockSizes);
  // Takes half a block at a time if there would be too few tasks for all threads.
  if (shape.channels < 16 * CpuThreads()) return HostForChannels<8, 16>(context, shape, steps...);
  HostForChannels<16, 16>(context, shape, steps...);
}
/// ForChannels for an outer x channels x inner array without blocks. Compiles to less code.
template <typename... Steps>
void ForChannels(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                 const Steps&... steps) {
  const ChannelShape shape{outer, channels, inner};
#if LAYRUB_LAUNCHES
  if (context.launch) return ForChannels(context, shape, steps...);
#endif
  if (channels > 0) HostForChannels<1, 1>(context, shape, steps...);
}

/// ForChannels for an array of Dtype. Arrays of doubles are never in blocks, because blocks are
/// used for oneDNN's convolutions, which have no double precision.
template <typename Dtype, typename... Steps>
void ForChannelsOf(const DeviceContext& context, const ChannelShape& shape, const Steps&... steps) {
  if constexpr (std::is_same_v<Dtype, double>) {
    Require(shape.block == 1, kBlockSizes);
    ForChannels(context, shape.outer, shape.channels, shape.inner, steps...);
  } else {
    ForChannels(context, shape, steps...);
  }
}

/// ForChannels with a single sum.
template <typename T, typename Map, typename Store>
void ReduceChannels(const DeviceContext& context, const ChannelShape& shape, Map map, Store store) {
  ForChannels(context, shape, SumOf<T>(map, store));
}
template <typename T, typename Map, typename Store>
void ReduceChannels(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                    Map map, Store store) {
  ForChannels(context, outer, channels, inner, SumOf<T>(map, store));
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOOPS_HPP_
