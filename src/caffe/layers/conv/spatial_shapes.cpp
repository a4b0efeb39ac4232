#include "spatial_shapes.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>

#include "caffe/kernels/conv/im2col.hpp"

namespace caffe {
namespace {

using Values = google::protobuf::RepeatedField<uint32_t>;

/// The values of Caffe's fields for one property of a window.
struct Given {
  const char* field;
  const Values& values;
  bool has_h, has_w;
  uint32_t h, w;
  uint32_t fallback;
  int64_t least;
};

/// Returns one value per spatial axis: from `values` (empty: the fallback; one for all axes; or one
/// each), or from the pair of _h and _w fields, which exclude `values`.
vector<int64_t> SpatialShape(const string& layer, const Given& given, int axes) {
  const string field = given.field;
  const int count = given.values.size();
  if (given.has_h || given.has_w) {
    const string stem = field == "kernel_size" ? "kernel" : field;
    const string pair = stem + "_h/" + stem + "_w";
    CHECK_EQ(axes, 2) << "Layer " << layer << ": " << pair << " are for two spatial axes only.";
    CHECK_EQ(count, 0) << "Layer " << layer << ": either " << field << " or " << pair
                       << " should be specified; not both.";
    return {given.has_h ? given.h : given.fallback, given.has_w ? given.w : given.fallback};
  }
  CHECK(count <= 1 || count == axes)
      << "Layer " << layer << ": " << field
      << " must be specified once, or once per spatial dimension (" << field << " specified "
      << count << " times; " << axes << " spatial dims).";
  vector<int64_t> shape(axes, given.fallback);
  for (int i = 0; i < axes && count > 0; ++i) shape[i] = given.values.Get(count == 1 ? 0 : i);
  return shape;
}

/// The same from a field of a fork, which is used if kernel_shape is set. Caffe's fields must be
/// unset or agree with it.
vector<int64_t> ShapeOfFork(const string& layer, const Given& given, const string& name,
                            const BlobShape& fork, int axes) {
  vector<int64_t> shape(fork.dim().begin(), fork.dim().end());
  if (shape.empty()) shape.assign(axes, given.fallback);
  CHECK_EQ(static_cast<int>(shape.size()), axes)
      << "Layer " << layer << ": " << name << " has " << shape.size() << " values, and the input "
      << axes << " spatial axes.";
  const bool by_caffe = !given.values.empty() || given.has_h || given.has_w;
  CHECK(!by_caffe || SpatialShape(layer, given, axes) == shape)
      << "Layer " << layer << ": with kernel_shape, " << name << " is used, but " << given.field
      << " differs from it.";
  return shape;
}

void SetShape(const string& layer, const string& name, const vector<int64_t>& values, int64_t least,
              Blob<int>* shape) {
  shape->Reshape({std::max(static_cast<int>(values.size()), 1)});
  for (size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i] >= least && values[i] <= INT_MAX)
        << "Layer " << layer << ": " << name << " of spatial dimension " << i
        << " is missing or out of range.";
    shape->mutable_cpu_data()[i] = static_cast<int>(values[i]);
  }
}

}  // namespace

void SetSpatialShapes(const string& layer, const ConvolutionParameter& param, int axes,
                      Blob<int>* kernel, Blob<int>* stride, Blob<int>* pad, Blob<int>* dilation) {
  CHECK_LE(axes, kernels::kMaxSpatialAxes) << "Layer " << layer << ": too many spatial axes.";
  CHECK(param.has_kernel_shape() || (!param.has_stride_shape() && !param.has_pad_shape()))
      << "Layer " << layer << ": stride_shape and pad_shape need a kernel_shape.";
  const auto set = [&](const Given& given, const string& name, const BlobShape& fork,
                       Blob<int>* shape) {
    if (param.has_kernel_shape()) {
      SetShape(layer, name, ShapeOfFork(layer, given, name, fork, axes), given.least, shape);
    } else {
      SetShape(layer, given.field, SpatialShape(layer, given, axes), given.least, shape);
    }
  };
  set({"kernel_size", param.kernel_size(), param.has_kernel_h(), param.has_kernel_w(),
       param.kernel_h(), param.kernel_w(), 0, 1},
      "kernel_shape", param.kernel_shape(), kernel);
  set({"stride", param.stride(), param.has_stride_h(), param.has_stride_w(), param.stride_h(),
       param.stride_w(), 1, 1},
      "stride_shape", param.stride_shape(), stride);
  set({"pad", param.pad(), param.has_pad_h(), param.has_pad_w(), param.pad_h(), param.pad_w(), 0,
       0},
      "pad_shape", param.pad_shape(), pad);
  const Given given{"dilation", param.dilation(), false, false, 0, 0, 1, 1};
  SetShape(layer, given.field, SpatialShape(layer, given, axes), given.least, dilation);
}

}  // namespace caffe
