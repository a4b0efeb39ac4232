#include "caffe/blob.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "caffe/core/blob_math.hpp"
#include "caffe/core/mode_device.hpp"
#include "caffe/util/deferred_work.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {

namespace {

vector<int> ToShape(const BlobShape& proto) {
  CHECK_LE(proto.dim_size(), kMaxBlobAxes) << "a blob has at most " << kMaxBlobAxes << " axes";
  vector<int> shape(proto.dim_size());
  for (int i = 0; i < proto.dim_size(); ++i) {
    CHECK_GE(proto.dim(i), 0) << "blob dimension " << i << " is negative";
    CHECK_LE(proto.dim(i), std::numeric_limits<int>::max())
        << "blob size exceeds INT_MAX in dimension " << i;
    shape[i] = static_cast<int>(proto.dim(i));
  }
  return shape;
}

bool HasLegacyShape(const BlobProto& proto) {
  return proto.has_num() || proto.has_channels() || proto.has_height() || proto.has_width();
}

vector<int> ShapeOf(const BlobProto& proto) {
  if (HasLegacyShape(proto)) return {proto.num(), proto.channels(), proto.height(), proto.width()};
  return ToShape(proto.shape());
}

/// Copies `from` to the address that `memory` returns. Calls `memory` only if the number of values
/// matches.
template <typename From, typename Memory>
void CopyValues(const google::protobuf::RepeatedField<From>& from, int count, const char* what,
                const Memory& memory) {
  CHECK(count == from.size()) << "blob " << what << " has " << from.size()
                              << " values where its shape needs " << count << ".";
  std::copy(from.begin(), from.end(), memory());
}

const char kNoShape[] = "the blob has no shape yet";

}  // namespace

template <typename Dtype>
Blob<Dtype>::Blob(const int num, const int channels, const int height, const int width)
    : count_(0), capacity_(0) {
  Reshape(num, channels, height, width);
}

template <typename Dtype>
Blob<Dtype>::Blob(const vector<int>& shape) : count_(0), capacity_(0) {
  Reshape(shape);
}

template <typename Dtype>
void Blob<Dtype>::Reshape(const int num, const int channels, const int height, const int width) {
  Reshape(vector<int>{num, channels, height, width});
}

template <typename Dtype>
void Blob<Dtype>::Reshape(const vector<int>& shape) {
  CHECK_LE(shape.size(), static_cast<size_t>(kMaxBlobAxes))
      << "a blob has at most " << kMaxBlobAxes << " axes";
  int64_t count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    CHECK_GE(shape[i], 0) << "blob dimension " << i << " is negative";
    count *= shape[i];
    CHECK_LE(count, std::numeric_limits<int>::max())
        << "blob size exceeds INT_MAX at dimension " << i;
  }
  count_ = static_cast<int>(count);
  shape_ = shape;
  shape_data_.reset();
  if (count_ > capacity_ || !data_) {
    capacity_ = count_;
    data_.reset(new SyncedMemory(size_t(capacity_) * sizeof(Dtype)));
    diff_.reset(new SyncedMemory(size_t(capacity_) * sizeof(Dtype)));
  }
}

template <typename Dtype>
void Blob<Dtype>::Reshape(const BlobShape& shape) {
  Reshape(ToShape(shape));
}

template <typename Dtype>
void Blob<Dtype>::ReshapeLike(const Blob& other) {
  Reshape(other.shape());
}

template <typename Dtype>
string Blob<Dtype>::shape_string() const {
  ostringstream stream;
  for (int dim : shape_) stream << dim << " ";
  stream << "(" << count_ << ")";
  return stream.str();
}

template <typename Dtype>
int Blob<Dtype>::count(int start_axis, int end_axis) const {
  CHECK_LE(start_axis, end_axis);
  CHECK_GE(start_axis, 0);
  CHECK_LE(end_axis, num_axes());
  // A blob without values (one axis is 0) may still have more than INT_MAX along some of its axes.
  int64_t count = 1;
  for (int i = start_axis; i < end_axis; ++i) {
    count *= shape_[i];
    CHECK_LE(count, std::numeric_limits<int>::max())
        << "axes " << start_axis << " to " << end_axis - 1 << " of a blob of " << shape_string()
        << " have more than INT_MAX values";
  }
  return static_cast<int>(count);
}

template <typename Dtype>
int Blob<Dtype>::CanonicalAxisIndex(int axis_index) const {
  CHECK_GE(axis_index, -num_axes()) << "axis " << axis_index << " out of range for " << num_axes()
                                    << "-D Blob with shape " << shape_string();
  CHECK_LT(axis_index, num_axes()) << "axis " << axis_index << " out of range for " << num_axes()
                                   << "-D Blob with shape " << shape_string();
  return axis_index < 0 ? axis_index + num_axes() : axis_index;
}

template <typename Dtype>
int Blob<Dtype>::LegacyShape(int index) const {
  CHECK_LE(num_axes(), 4) << "Cannot use legacy accessors on Blobs with > 4 axes.";
  CHECK_LT(index, 4);
  CHECK_GE(index, -4);
  if (index >= num_axes() || index < -num_axes()) return 1;  // missing axes count as ones
  return shape(index);
}

template <typename Dtype>
int Blob<Dtype>::offset(const int n, const int c, const int h, const int w) const {
  CHECK_GE(n, 0);
  CHECK_LE(n, num());
  CHECK_GE(channels(), 0);
  CHECK_LE(c, channels());
  CHECK_GE(height(), 0);
  CHECK_LE(h, height());
  CHECK_GE(width(), 0);
  CHECK_LE(w, width());
  const int64_t offset = ((int64_t{n} * channels() + c) * height() + h) * width() + w;
  CHECK_LE(offset, std::numeric_limits<int>::max());
  return static_cast<int>(offset);
}

template <typename Dtype>
int Blob<Dtype>::offset(const vector<int>& indices) const {
  CHECK_LE(indices.size(), shape_.size());
  int offset = 0;
  for (int i = 0; i < num_axes(); ++i) {
    offset *= shape_[i];
    if (i < static_cast<int>(indices.size())) {
      CHECK_GE(indices[i], 0);
      CHECK_LT(indices[i], shape_[i]);
      offset += indices[i];
    }
  }
  return offset;
}

template <typename Dtype>
void Blob<Dtype>::CopyFrom(const Blob<Dtype>& source, bool copy_diff, bool reshape) {
  if (source.count() != count_ || source.shape() != shape_) {
    CHECK(reshape) << "Trying to copy blobs of different sizes: " << source.shape_string() << " to "
                   << shape_string() << ".";
    ReshapeLike(source);
  }
  const bool gpu = ModeDevice() != nullptr;
  if (copy_diff) {
    caffe_copy(count_, gpu ? source.gpu_diff() : source.cpu_diff(),
               gpu ? mutable_gpu_diff() : mutable_cpu_diff());
  } else {
    caffe_copy(count_, gpu ? source.gpu_data() : source.cpu_data(),
               gpu ? mutable_gpu_data() : mutable_cpu_data());
  }
}

template <typename Dtype>
const Dtype* Blob<Dtype>::cpu_data() const {
  CHECK(data_) << kNoShape;
  return static_cast<const Dtype*>(data_->cpu_data());
}
template <typename Dtype>
const Dtype* Blob<Dtype>::cpu_diff() const {
  CHECK(diff_) << kNoShape;
  return static_cast<const Dtype*>(diff_->cpu_data());
}
template <typename Dtype>
const Dtype* Blob<Dtype>::gpu_data() const {
  CHECK(data_) << kNoShape;
  return static_cast<const Dtype*>(data_->gpu_data());
}
template <typename Dtype>
const Dtype* Blob<Dtype>::gpu_diff() const {
  CHECK(diff_) << kNoShape;
  return static_cast<const Dtype*>(diff_->gpu_data());
}
template <typename Dtype>
Dtype* Blob<Dtype>::mutable_cpu_data() {
  CHECK(data_) << kNoShape;
  return static_cast<Dtype*>(data_->mutable_cpu_data());
}
template <typename Dtype>
Dtype* Blob<Dtype>::mutable_cpu_diff() {
  CHECK(diff_) << kNoShape;
  return static_cast<Dtype*>(diff_->mutable_cpu_data());
}
template <typename Dtype>
Dtype* Blob<Dtype>::mutable_gpu_data() {
  CHECK(data_) << kNoShape;
  return static_cast<Dtype*>(data_->mutable_gpu_data());
}
template <typename Dtype>
Dtype* Blob<Dtype>::mutable_gpu_diff() {
  CHECK(diff_) << kNoShape;
  return static_cast<Dtype*>(diff_->mutable_gpu_data());
}

template <typename Dtype>
const int* Blob<Dtype>::gpu_shape() const {
  if (!shape_data_) {
    shape_data_.reset(new SyncedMemory(shape_.size() * sizeof(int)));
    std::copy(shape_.begin(), shape_.end(), static_cast<int*>(shape_data_->mutable_cpu_data()));
  }
  return static_cast<const int*>(shape_data_->gpu_data());
}

namespace {

/// Prepares `data` for `size` bytes of user memory. If its size was different, replaces `data` and
/// `diff` and returns true.
bool TakeOwn(size_t size, shared_ptr<SyncedMemory>* data, shared_ptr<SyncedMemory>* diff) {
  const bool resized = (*data)->size() != size;  // user memory has exactly count() values
  const Binding* const binding = (*data)->binding();
  // A running layer makes its planned top use memory of its own. The top leaves the plan's memory,
  // and the net copies the value there when the layer is done.
  if (resized || (binding && binding->writable)) data->reset(new SyncedMemory(size));
  if (resized) diff->reset(new SyncedMemory(size));
  return resized;
}

}  // namespace

template <typename Dtype>
void Blob<Dtype>::set_cpu_data(Dtype* data) {
  CHECK(data);
  if (TakeOwn(size_t(count_) * sizeof(Dtype), &data_, &diff_)) capacity_ = count_;
  data_->set_cpu_data(data);
}

template <typename Dtype>
void Blob<Dtype>::set_gpu_data(Dtype* data) {
  CHECK(data);
  if (TakeOwn(size_t(count_) * sizeof(Dtype), &data_, &diff_)) capacity_ = count_;
  data_->set_gpu_data(data);
}

namespace {

/// Whether the values are on the device, or will be allocated there.
bool OnDevice(const SyncedMemory& memory) {
  return ModeDevice() && memory.head() != SyncedMemory::HEAD_AT_CPU;
}

// Blobs of integers hold indices and have no norms. Sums are computed on the mode's device,
// wherever the values are, so that they have the same bits with and without a plan.
template <typename Dtype>
Dtype SumOfMagnitudes(int count, SyncedMemory* memory) {
  if constexpr (std::is_floating_point_v<Dtype>) {
    if (count == 0 || !memory || memory->head() == SyncedMemory::UNINITIALIZED) return 0;
    if (ModeDevice()) return DeviceAsum(count, static_cast<const Dtype*>(memory->gpu_data()));
    return caffe_cpu_asum(count, static_cast<const Dtype*>(memory->cpu_data()));
  } else {
    NOT_IMPLEMENTED;
    return 0;
  }
}
template <typename Dtype>
Dtype SumOfSquares(int count, SyncedMemory* memory) {
  if constexpr (std::is_floating_point_v<Dtype>) {
    if (count == 0 || !memory || memory->head() == SyncedMemory::UNINITIALIZED) return 0;
    if (ModeDevice()) return DeviceSumSquares(count, static_cast<const Dtype*>(memory->gpu_data()));
    const auto* values = static_cast<const Dtype*>(memory->cpu_data());
    return caffe_cpu_dot(count, values, values);
  } else {
    NOT_IMPLEMENTED;
    return 0;
  }
}
template <typename Dtype>
void ScaleValues(int count, Dtype factor, SyncedMemory* memory) {
  if constexpr (std::is_floating_point_v<Dtype>) {
    if (count == 0 || !memory || memory->head() == SyncedMemory::UNINITIALIZED) return;
    if (OnDevice(*memory)) {
      DeviceScale(count, factor, static_cast<Dtype*>(memory->mutable_gpu_data()));
    } else {
      caffe_scal(count, factor, static_cast<Dtype*>(memory->mutable_cpu_data()));
    }
  } else {
    NOT_IMPLEMENTED;
  }
}

}  // namespace

template <typename Dtype>
void Blob<Dtype>::Update() {
  if constexpr (std::is_floating_point_v<Dtype>) {
    const DeferredWork::Operands operands;
    if (OnDevice(*data_)) {
      Subtract(true, count_, gpu_diff(), mutable_gpu_data());
    } else {
      Subtract(false, count_, cpu_diff(), mutable_cpu_data());
    }
  } else {
    NOT_IMPLEMENTED;
  }
}

template <typename Dtype>
Dtype Blob<Dtype>::asum_data() const {
  return SumOfMagnitudes<Dtype>(count_, data_.get());
}
template <typename Dtype>
Dtype Blob<Dtype>::asum_diff() const {
  return SumOfMagnitudes<Dtype>(count_, diff_.get());
}
template <typename Dtype>
Dtype Blob<Dtype>::sumsq_data() const {
  return SumOfSquares<Dtype>(count_, data_.get());
}
template <typename Dtype>
Dtype Blob<Dtype>::sumsq_diff() const {
  return SumOfSquares<Dtype>(count_, diff_.get());
}
template <typename Dtype>
void Blob<Dtype>::scale_data(Dtype scale_factor) {
  ScaleValues(count_, scale_factor, data_.get());
}
template <typename Dtype>
void Blob<Dtype>::scale_diff(Dtype scale_factor) {
  ScaleValues(count_, scale_factor, diff_.get());
}

template <typename Dtype>
void Blob<Dtype>::ShareData(const Blob& other) {
  CHECK_EQ(count_, other.count()) << "blobs that share data need the same count";
  data_ = other.data();
}
template <typename Dtype>
void Blob<Dtype>::ShareDiff(const Blob& other) {
  CHECK_EQ(count_, other.count()) << "blobs that share diff need the same count";
  diff_ = other.diff();
}
template <typename Dtype>
void Blob<Dtype>::ShareMemory(const shared_ptr<SyncedMemory>& data,
                              const shared_ptr<SyncedMemory>& diff) {
  const size_t size = size_t(count_) * sizeof(Dtype);
  for (const shared_ptr<SyncedMemory>* side : {&data, &diff}) {
    CHECK(!*side || (*side)->size() >= size)
        << "memory of " << (*side)->size() << " bytes for a blob of " << size;
  }
  if (data) data_ = data;
  if (diff) diff_ = diff;
  if (data_ && diff_)
    capacity_ = static_cast<int>(std::min(data_->size(), diff_->size()) / sizeof(Dtype));
}

template <typename Dtype>
bool Blob<Dtype>::ShapeEquals(const BlobProto& other) {
  if (HasLegacyShape(other)) {
    // Old files pad shapes with ones in front: 1x1x1xN for a vector, 1x1xMxN for a matrix.
    return num_axes() <= 4 && LegacyShape(-4) == other.num() &&
           LegacyShape(-3) == other.channels() && LegacyShape(-2) == other.height() &&
           LegacyShape(-1) == other.width();
  }
  return shape_ == ToShape(other.shape());
}

template <typename Dtype>
void Blob<Dtype>::FromProto(const BlobProto& proto, bool reshape) {
  if (reshape) {
    Reshape(ShapeOf(proto));
  } else {
    CHECK(ShapeEquals(proto)) << "shape mismatch (reshape not set)";
  }
  const auto data = [this] { return mutable_cpu_data(); };
  const auto diff = [this] { return mutable_cpu_diff(); };
  if (proto.double_data_size() > 0) {
    CopyValues(proto.double_data(), count_, "data", data);
  } else {
    CopyValues(proto.data(), count_, "data", data);
  }
  if (proto.double_diff_size() > 0) {
    CopyValues(proto.double_diff(), count_, "diff", diff);
  } else if (proto.diff_size() > 0) {
    CopyValues(proto.diff(), count_, "diff", diff);
  }
}

namespace {

void Store(const float* data, const float* diff, int count, BlobProto* proto) {
  proto->mutable_data()->Add(data, data + count);
  if (diff) proto->mutable_diff()->Add(diff, diff + count);
}
void Store(const double* data, const double* diff, int count, BlobProto* proto) {
  proto->mutable_double_data()->Add(data, data + count);
  if (diff) proto->mutable_double_diff()->Add(diff, diff + count);
}
template <typename Integer>
void Store(const Integer*, const Integer*, int, BlobProto*) {
  LOG(FATAL) << "Only blobs of float and double can be stored.";
}

}  // namespace

template <typename Dtype>
void Blob<Dtype>::ToProto(BlobProto* proto, bool write_diff) const {
  proto->Clear();
  for (int dim : shape_) proto->mutable_shape()->add_dim(dim);
  Store(cpu_data(), write_diff ? cpu_diff() : nullptr, count_, proto);
}

INSTANTIATE_CLASS(Blob);
template class Blob<int>;
template class Blob<unsigned int>;

}  // namespace caffe
