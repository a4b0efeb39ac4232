#ifndef CAFFE_UTIL_CHANNEL_SHAPE_HPP_
#define CAFFE_UTIL_CHANNEL_SHAPE_HPP_

#include <cstdint>

namespace caffe {

/// An array of outer x channels x inner values, in which each channel is processed separately.
struct ChannelShape {
  int64_t outer = 0;
  int64_t channels = 0;
  int64_t inner = 0;
  /// The channel block (Blob::channel_block): 1, 8 or 16, a divisor of the channels. The values are
  /// stored as outer x (channels / block) x inner x block.
  int block = 1;

  int64_t count() const { return outer * channels * inner; }
  int64_t PerChannel() const { return outer * inner; }
};

/// Copy all values between channel blocks, as in `shape`, and a plain array, on the CPU's threads.
/// The two must not overlap.
template <typename Dtype>
void ArrayFromBlocks(const ChannelShape& shape, const Dtype* blocks, Dtype* array);
template <typename Dtype>
void BlocksFromArray(const ChannelShape& shape, const Dtype* array, Dtype* blocks);

}  // namespace caffe

#endif  // CAFFE_UTIL_CHANNEL_SHAPE_HPP_
