#ifndef CAFFE_LAYERS_DATA_FILL_TOP_HPP_
#define CAFFE_LAYERS_DATA_FILL_TOP_HPP_

#include "caffe/blob.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/util/host_feed.hpp"

namespace caffe {

/// Fills `top` from `from`, a blob on the host, beginning at its value number `first`. With a
/// `feed` (Layer::feed) the copy may still be in progress when this returns.
template <typename Dtype>
void FillTop(const DeviceContext& context, HostFeed* feed, const Blob<Dtype>& from,
             Blob<Dtype>* top, int64_t first = 0) {
  const Dtype* const values = from.cpu_data() + first;
  const size_t bytes = static_cast<size_t>(top->count()) * sizeof(Dtype);
  if (feed && feed->Copy(top->data().get(), values, bytes)) return;
  kernels::CopyFromHost(context, top->count(), values, MutableData(context, top));
}

/// The same for memory that the caller may overwrite at once, or that is not pinned. For a feed the
/// values are first copied to `staged`, which must not be used for anything else.
template <typename Dtype>
void FillTop(const DeviceContext& context, HostFeed* feed, const Dtype* from, Blob<Dtype>* staged,
             Blob<Dtype>* top) {
  if (!feed) {
    kernels::CopyFromHost(context, top->count(), from, MutableData(context, top));
    return;
  }
  staged->ReshapeLike(*top);
  std::copy(from, from + top->count(), staged->mutable_cpu_data());
  FillTop(context, feed, *staged, top);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_FILL_TOP_HPP_
