#ifndef CAFFE_KERNELS_LOOPS_HPP_
#define CAFFE_KERNELS_LOOPS_HPP_

// Loops over arrays of two and three axes, made of those in parallel.hpp.

#include <type_traits>

#include "caffe/kernels/divider.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

/// body(row, column) for all rows and columns, in any order, possibly at the same time: rows are
/// shared among the CPU's threads, on a GPU each pair has a thread of its own.
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

/// body(row, begin, end) for segments [begin, end) that make up every row, in any order, possibly
/// at the same time: whole rows on the CPU, so that what a row's columns have in common is done
/// once; single columns on a GPU.
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

/// What an element becomes, and what of it is kept.
template <typename Dtype>
struct ValueAndCopy {
  Dtype value, copy;
};
template <typename Dtype>
struct ToBoth {
  Dtype *to, *copy;  ///< copy: null where none is wanted
  LAYRUB_HOST_DEVICE void operator()(int64_t i, const ValueAndCopy<Dtype>& made) const {
    if (copy != nullptr) copy[i] = made.copy;
    to[i] = made.value;
  }
};
template <typename Dtype>
ToBoth(Dtype*, Dtype*) -> ToBoth<Dtype>;

/// store(i, value(channel, i)) for each element i of an outer x channels x inner array, as
/// ParallelFor(context, n, value, store).
template <typename Value, typename Store>
void ParallelForChannels(const DeviceContext& context, int64_t outer, int64_t channels,
                         int64_t inner, Value value, Store store) {
#if LAYRUB_LAUNCHES
  if (context.launch) {
    const ChannelOf channel_of(channels, inner);
    ParallelFor(
        context, outer * channels * inner,
        [=] LAYRUB_HOST_DEVICE(int64_t i) { return value(channel_of(i), i); }, store);
    return;
  }
#endif
  const HostKernel scope(context);
  const int64_t rows = outer * channels;
  HostFor(rows, rows > 1 && rows * inner > kGrain, [=](int64_t row) {
    const int64_t channel = row % channels, end = (row + 1) * inner;
    for (int64_t i = row * inner; i < end; ++i) store(i, value(channel, i));
  });
}

// What ForChannels does with each channel of an outer x channels x inner array, `element` an index
// into the whole array. Instead of value(channel, element) there may be a value(channel) that gives
// a value(element): what a channel's elements have in common is then loaded once.

/// `map` of one channel.
template <typename Map>
struct MapOfChannel {
  const Map& map;
  int64_t channel;
  LAYRUB_HOST_DEVICE auto operator()(int64_t i) const { return map(channel, i); }
};
template <typename Map>
LAYRUB_HOST_DEVICE auto OfChannel(const Map& map, int64_t channel) {
  if constexpr (std::is_invocable_v<const Map&, int64_t>) {
    return map(channel);
  } else {
    return MapOfChannel<Map>{map, channel};
  }
}

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

/// store(channel, mean, variance) of the channel's value(channel, element); the variance is the
/// mean squared deviation. On the CPU in two passes, on a GPU in one.
template <typename Dtype, typename Value, typename Store>
struct ChannelMoments {
  Value value;
  Store store;
};
template <typename Dtype, typename Value, typename Store>
ChannelMoments<Dtype, Value, Store> MomentsOf(Value value, Store store) {
  return {value, store};
}

/// store(element, value(channel, element)) for each element. No value reads what is stored for
/// another.
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

template <typename T, typename Map, typename Store>
void RunOnChannel(const ChannelSum<T, Map, Store>& step, int64_t outer, int64_t channels,
                  int64_t inner, int64_t channel) {
  if (!step.wanted) return;
  const auto map = OfChannel(step.map, channel);
  InterleavedSums<T> sums;
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t first = (o * channels + channel) * inner;
    int64_t i = 0;
    for (; i + 8 <= inner; i += 8) {
      for (int k = 0; k < 8; ++k) sums.Add(k, map(first + i + k));
    }
    for (int k = 0; i < inner; ++i, ++k) sums.Add(k, map(first + i));
  }
  step.store(channel, sums.Total());
}

template <typename Dtype, typename Value, typename Store>
void RunOnChannel(const ChannelMoments<Dtype, Value, Store>& step, int64_t outer, int64_t channels,
                  int64_t inner, int64_t channel) {
  const auto count = static_cast<Dtype>(outer * inner);
  Dtype mean = 0;
  RunOnChannel(SumOf<Dtype>(step.value, [&](int64_t, Dtype sum) { mean = sum / count; }), outer,
               channels, inner, channel);
  const Value value = step.value;
  const auto square = [=] LAYRUB_HOST_DEVICE(int64_t c, int64_t i) {
    const Dtype deviation = value(c, i) - mean;
    return deviation * deviation;
  };
  const auto store = [&](int64_t c, Dtype sum) { step.store(c, mean, sum / count); };
  RunOnChannel(SumOf<Dtype>(square, store), outer, channels, inner, channel);
}

template <typename Value, typename Store>
void RunOnChannel(const ChannelEach<Value, Store>& step, int64_t outer, int64_t channels,
                  int64_t inner, int64_t channel) {
  if (!step.wanted) return;
  const auto value = OfChannel(step.value, channel);
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t first = (o * channels + channel) * inner;
    for (int64_t i = first; i < first + inner; ++i) step.store(i, value(i));
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
        // Element i of the channel, of which each item of the array has `inner`.
        return OfChannel(map, channel)(i + (item_of(i) * (channels - 1) + channel) * inner);
      },
      step.store);
}

/// Of some values: how many, their mean, and the sum of their squared deviations from it. Those of
/// two groups make those of both (Chan, Golub and LeVeque 1979) without a difference of large sums,
/// however far the mean is from zero.
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
  // Of distances from the channel's first value, which are small, so that little is rounded off,
  // where its mean is far from zero and its deviation is not.
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
      [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) { return OfChannel(value, channel)(i); },
      step.store);
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
