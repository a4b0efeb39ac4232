#include "caffe/layers/slice_layer.hpp"

#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void SliceLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                   const vector<Blob<Dtype>*>& top) {
  const SliceParameter& param = this->layer_param_.slice_param();
  const string& name = this->layer_param_.name();
  CHECK(!(param.has_axis() && param.has_slice_dim()))
      << "Layer " << name << ": either axis or slice_dim should be specified, not both.";
  slice_point_.assign(param.slice_point().begin(), param.slice_point().end());
  CHECK(slice_point_.empty() || slice_point_.size() + 1 == top.size())
      << "Layer " << name << ": " << slice_point_.size() << " slice points cut into "
      << slice_point_.size() + 1 << " parts, but there are " << top.size() << " tops.";
}

template <typename Dtype>
void SliceLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  const SliceParameter& param = this->layer_param_.slice_param();
  const string& name = this->layer_param_.name();
  vector<int> shape = bottom[0]->shape();
  if (param.has_slice_dim()) {
    CHECK_LT(param.slice_dim(), static_cast<uint32_t>(bottom[0]->num_axes()))
        << "Layer " << name << ": slice_dim out of range.";
    slice_axis_ = static_cast<int>(param.slice_dim());
  } else {
    slice_axis_ = bottom[0]->CanonicalAxisIndex(param.axis());
  }
  const int size = shape[slice_axis_];
  const int tops = static_cast<int>(top.size());
  CHECK(!slice_point_.empty() || size % tops == 0)
      << "Layer " << name << ": axis " << slice_axis_ << " of bottom 0, shape "
      << bottom[0]->shape_string() << ", cannot be cut into " << tops << " equal parts.";
  int begin = 0;
  for (int i = 0; i < tops; ++i) {
    int end = size / tops * (i + 1);
    if (!slice_point_.empty()) end = i + 1 < tops ? slice_point_[i] : size;
    CHECK(begin < end && end <= size)
        << "Layer " << name << ": slice points must rise and lie inside axis " << slice_axis_
        << " of bottom 0, shape " << bottom[0]->shape_string() << "; part " << i << " would be "
        << begin << " to " << end << ".";
    shape[slice_axis_] = end - begin;
    top[i]->Reshape(shape);
    begin = end;
  }
  num_slices_ = bottom[0]->count(0, slice_axis_);
  slice_size_ = bottom[0]->count(slice_axis_ + 1);
  if (tops > 1) return;
  top[0]->ShareData(*bottom[0]);
  top[0]->ShareDiff(*bottom[0]);
}

template <typename Dtype>
MemoryTraits SliceLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                       const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  // Whole blocks of channels, or whole items, are cut.
  traits.takes_blocks = slice_axis_ <= 1;
  traits.sliceable = slice_axis_ > 0;
  if (top.size() == 1) {
    traits.data_views = {{0, 0}};
    if (propagate_down[0]) traits.diff_views = {{0, 0}};
    return traits;
  }
  OperandVariant backward;
  traits.forward.reads = {BottomData(0)};
  for (size_t i = 0; i < top.size(); ++i) {
    traits.forward.writes.push_back(TopData(i));
    backward.reads.push_back(TopDiff(i));
  }
  backward.writes = {BottomDiff(0)};
  if (propagate_down[0]) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void SliceLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  if (top.size() == 1) return;  // shared by Reshape
  const int rows = bottom[0]->count(0, slice_axis_);
  const int bottom_width = bottom[0]->count(slice_axis_);
  const Dtype* from = Data(context, *bottom[0]);
  for (Blob<Dtype>* blob : top) {
    const int width = blob->count(slice_axis_);
    kernels::CopyRows(context, rows, width, from, bottom_width, MutableData(context, blob), width);
    from += width;
  }
}

template <typename Dtype>
void SliceLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  if (top.size() == 1) {
    bottom[0]->ShareDiff(*top[0]);
    return;
  }
  const int rows = bottom[0]->count(0, slice_axis_);
  const int bottom_width = bottom[0]->count(slice_axis_);
  Dtype* to = MutableDiff(context, bottom[0]);
  for (const Blob<Dtype>* blob : top) {
    const int width = blob->count(slice_axis_);
    kernels::CopyRows(context, rows, width, Diff(context, *blob), width, to, bottom_width);
    to += width;
  }
}

/// All dimensions except the sliced one.
static LayerRule SliceRule(const LayerShapes& shapes) {
  const SliceParameter& param = shapes.param.slice_param();
  const auto axes = static_cast<int>(shapes.bottom[0].size());
  int axis = param.has_slice_dim() ? static_cast<int>(param.slice_dim()) : param.axis();
  if (axis < 0) axis += axes;
  LayerRule rule;
  for (int d = 0; d < axes; ++d) {
    if (d != axis)
      rule.axes.push_back(AxisOf(d == 0 ? "item" : "dim " + std::to_string(d), shapes, d));
  }
  return rule;
}

INSTANTIATE_CLASS(SliceLayer);
REGISTER_LAYER_CLASS(Slice);
REGISTER_LAYER_AXES(Slice, SliceRule);

}  // namespace caffe
