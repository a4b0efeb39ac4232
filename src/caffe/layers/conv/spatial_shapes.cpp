#include "spatial_shapes.hpp"

#include <algorithm>

#include "caffe/kernels/conv/im2col.hpp"

namespace caffe {
namespace {

/// One dimension per spatial axis from a repeated field (none: `fallback`, one for all, or one
/// each) or from the pair of _h and _w fields, which exclude it.
template <typename Repeated>
void SpatialShape(const string& layer, const string& field, const Repeated& values, bool has_h,
                  int h, bool has_w, int w, int fallback, int least, int axes, Blob<int>* shape) {
  shape->Reshape(vector<int>(1, std::max(axes, 1)));
  int* data = shape->mutable_cpu_data();
  if (has_h || has_w) {
    const string stem = field == "kernel_size" ? "kernel" : field;
    const string pair = stem + "_h/" + stem + "_w";
    CHECK_EQ(axes, 2) << "Layer " << layer << ": " << pair << " are for two spatial axes only.";
    CHECK_EQ(values.size(), 0) << "Layer " << layer << ": either " << field << " or " << pair
                               << " should be specified; not both.";
    data[0] = has_h ? h : fallback;
    data[1] = has_w ? w : fallback;
  } else {
    CHECK(values.size() <= 1 || values.size() == axes)
        << "Layer " << layer << ": " << field
        << " must be specified once, or once per spatial dimension (" << field << " specified "
        << values.size() << " times; " << axes << " spatial dims).";
    for (int i = 0; i < axes; ++i) {
      data[i] =
          values.size() == 0 ? fallback : static_cast<int>(values.Get(values.size() == 1 ? 0 : i));
    }
  }
  for (int i = 0; i < axes; ++i) {
    CHECK_GE(data[i], least) << "Layer " << layer << ": " << field << " of spatial dimension " << i
                             << " is missing or out of range.";
  }
}

}  // namespace

void SetSpatialShapes(const string& layer, const ConvolutionParameter& param, int axes,
                      Blob<int>* kernel, Blob<int>* stride, Blob<int>* pad, Blob<int>* dilation) {
  CHECK_LE(axes, kernels::kMaxSpatialAxes) << "Layer " << layer << ": too many spatial axes.";
  SpatialShape(layer, "kernel_size", param.kernel_size(), param.has_kernel_h(), param.kernel_h(),
               param.has_kernel_w(), param.kernel_w(), 0, 1, axes, kernel);
  SpatialShape(layer, "stride", param.stride(), param.has_stride_h(), param.stride_h(),
               param.has_stride_w(), param.stride_w(), 1, 1, axes, stride);
  SpatialShape(layer, "pad", param.pad(), param.has_pad_h(), param.pad_h(), param.has_pad_w(),
               param.pad_w(), 0, 0, axes, pad);
  SpatialShape(layer, "dilation", param.dilation(), false, 0, false, 0, 1, 1, axes, dilation);
}

}  // namespace caffe
