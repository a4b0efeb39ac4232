#include "caffe/util/channel_shape.hpp"

#include "caffe/util/threads.hpp"

namespace caffe {
namespace {

/// Fewer values are copied on one thread.
constexpr int64_t kFew = 1 << 15;

/// Calls copy(index in blocks, index in the array) for each value, in the order of the blocks.
template <typename Copy>
void ForValues(const ChannelShape& shape, const Copy& copy) {
  const int64_t rows = shape.outer * shape.channels / shape.block;
  CpuFor(rows, rows > 1 && shape.count() > kFew, [&](int64_t row) {
    const int64_t begin = row * shape.block * shape.inner;
    int64_t at = begin;
    for (int64_t i = 0; i < shape.inner; ++i) {
      for (int64_t lane = 0; lane < shape.block; ++lane) copy(at++, begin + lane * shape.inner + i);
    }
  });
}

}  // namespace

template <typename Dtype>
void ArrayFromBlocks(const ChannelShape& shape, const Dtype* blocks, Dtype* array) {
  ForValues(shape,
            [=](int64_t in_blocks, int64_t in_array) { array[in_array] = blocks[in_blocks]; });
}

template <typename Dtype>
void BlocksFromArray(const ChannelShape& shape, const Dtype* array, Dtype* blocks) {
  ForValues(shape,
            [=](int64_t in_blocks, int64_t in_array) { blocks[in_blocks] = array[in_array]; });
}

template void ArrayFromBlocks(const ChannelShape&, const float*, float*);
template void ArrayFromBlocks(const ChannelShape&, const double*, double*);
template void BlocksFromArray(const ChannelShape&, const float*, float*);
template void BlocksFromArray(const ChannelShape&, const double*, double*);

}  // namespace caffe
