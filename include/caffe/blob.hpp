#ifndef CAFFE_BLOB_HPP_
#define CAFFE_BLOB_HPP_

#include <algorithm>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/syncedmem.hpp"
#include "caffe/util/max_blob_axes.hpp"

namespace caffe {

/// An N-dimensional row-major array of values (`data`) and of their derivatives (`diff`), each
/// behind a SyncedMemory handle of its own. Blobs share bytes by sharing handles (ShareData,
/// ShareDiff). Nothing is allocated before the first touch. Not thread safe.
template <typename Dtype>
class Blob {
 public:
  Blob() : data_(), diff_(), count_(0), capacity_(0) {}
  explicit Blob(const int num, const int channels, const int height, const int width);
  explicit Blob(const vector<int>& shape);

  void Reshape(const int num, const int channels, const int height, const int width);
  /// Reuses the present memory if it is large enough, otherwise drops it. Aborts if the number of
  /// values overflows.
  void Reshape(const vector<int>& shape);
  void Reshape(const BlobShape& shape);
  void ReshapeLike(const Blob& other);

  /// The dimensions and the count, for example "2 3 4 (24)".
  string shape_string() const;
  const vector<int>& shape() const { return shape_; }
  int shape(int index) const { return shape_[CanonicalAxisIndex(index)]; }
  int num_axes() const { return static_cast<int>(shape_.size()); }
  int count() const { return count_; }
  /// The product of the dimensions in [start_axis, end_axis).
  int count(int start_axis, int end_axis) const;
  int count(int start_axis) const { return count(start_axis, num_axes()); }
  /// Maps an index in [-num_axes(), num_axes()) to [0, num_axes()). Aborts if it is out of range.
  int CanonicalAxisIndex(int axis_index) const;

  // The four-axis view of older code. Aborts if there are more than four axes.
  int num() const { return LegacyShape(0); }
  int channels() const { return LegacyShape(1); }
  int height() const { return LegacyShape(2); }
  int width() const { return LegacyShape(3); }
  int LegacyShape(int index) const;

  int offset(const int n, const int c = 0, const int h = 0, const int w = 0) const;
  int offset(const vector<int>& indices) const;

  void CopyFrom(const Blob<Dtype>& source, bool copy_diff = false, bool reshape = false);

  Dtype data_at(const int n, const int c, const int h, const int w) const {
    return cpu_data()[offset(n, c, h, w)];
  }
  Dtype diff_at(const int n, const int c, const int h, const int w) const {
    return cpu_diff()[offset(n, c, h, w)];
  }
  Dtype data_at(const vector<int>& index) const { return cpu_data()[offset(index)]; }
  Dtype diff_at(const vector<int>& index) const { return cpu_diff()[offset(index)]; }

  /// Returns false if the blob was never given a shape. It has no memory then.
  bool HasShape() const { return data_ != nullptr; }
  const shared_ptr<SyncedMemory>& data() const {
    CHECK(data_) << "the blob has no shape yet";
    return data_;
  }
  const shared_ptr<SyncedMemory>& diff() const {
    CHECK(diff_) << "the blob has no shape yet";
    return diff_;
  }

  const Dtype* cpu_data() const;
  void set_cpu_data(Dtype* data);
  const int* gpu_shape() const;
  const Dtype* gpu_data() const;
  void set_gpu_data(Dtype* data);
  const Dtype* cpu_diff() const;
  const Dtype* gpu_diff() const;
  Dtype* mutable_cpu_data();
  Dtype* mutable_gpu_data();
  Dtype* mutable_cpu_diff();
  Dtype* mutable_gpu_diff();

  /// data -= diff
  void Update();
  /// Reads what ToProto wrote, and the older num/channels/height/width variant. Counts are checked
  /// against the shape.
  void FromProto(const BlobProto& proto, bool reshape = true);
  void ToProto(BlobProto* proto, bool write_diff = false) const;

  Dtype asum_data() const;
  Dtype asum_diff() const;
  Dtype sumsq_data() const;
  Dtype sumsq_diff() const;
  void scale_data(Dtype scale_factor);
  void scale_diff(Dtype scale_factor);

  /// Makes this blob's data (diff) the same memory as the other's. The counts must be equal.
  void ShareData(const Blob& other);
  void ShareDiff(const Blob& other);
  /// Replaces both handles. A net uses it to give a layer the version of a blob that its plan has
  /// placed. A null handle leaves that side as it is. Each handle must be large enough for the
  /// blob's count.
  void ShareMemory(const shared_ptr<SyncedMemory>& data, const shared_ptr<SyncedMemory>& diff);

  bool ShapeEquals(const BlobProto& other);

  /// The number of channels (axis 1) that are stored side by side. It is 1 in every blob that users
  /// see: the values are a plain row-major array. A net's plan may use a larger block, which
  /// divides the number of channels, in private blobs of layers that support it (MemoryTraits).
  /// Data and diff are then stored as num x (channels / block) x the other axes x block. The shape
  /// does not change.
  int channel_block() const { return channel_block_; }
  void set_channel_block(int block) { channel_block_ = block; }

 protected:
  shared_ptr<SyncedMemory> data_;
  shared_ptr<SyncedMemory> diff_;
  mutable shared_ptr<SyncedMemory> shape_data_;
  vector<int> shape_;
  int count_;
  int capacity_;
  int channel_block_ = 1;

  DISABLE_COPY_AND_ASSIGN(Blob);
};

}  // namespace caffe

#endif  // CAFFE_BLOB_HPP_
