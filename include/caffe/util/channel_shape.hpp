#ifndef CAFFE_UTIL_CHANNEL_SHAPE_HPP_
#define CAFFE_UTIL_CHANNEL_SHAPE_HPP_

#include <cstdint>

namespace caffe {

/// An array of outer x channels x inner values, whose channels are treated alike, each for itself.
struct ChannelShape {
  int64_t outer = 0;
  int64_t channels = 0;
  int64_t inner = 0;
  /// Channels that lie side by side (Blob::channel_block), 1, 8 or 16, a divisor of all: the values
  /// lie as outer x channels / block x inner x block.
  int block = 1;

  int64_t count() const { return outer * channels * inner; }
  int64_t PerChannel() const { return outer * inner; }
};

/// Copies all values, of blocks as `shape` says or of an array, to the other, on the CPU's threads.
/// They may not overlap.
template <typename Dtype>
void ArrayFromBlocks(const ChannelShape& shape, const Dtype* blocks, Dtype* array);
template <typename Dtype>
void BlocksFromArray(const ChannelShape& shape, const Dtype* array, Dtype* blocks);

}  // namespace caffe

#endif  // CAFFE_UTIL_CHANNEL_SHAPE_HPP_
