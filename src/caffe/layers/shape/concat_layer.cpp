#include "caffe/layers/concat_layer.hpp"

#include <numeric>

#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void ConcatLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                    const vector<Blob<Dtype>*>& /*top*/) {
  const ConcatParameter& param = this->layer_param_.concat_param();
  CHECK(!(param.has_axis() && param.has_concat_dim()))
      << "Layer " << this->layer_param_.name()
      << ": either axis or concat_dim should be specified, not both.";
}

template <typename Dtype>
void ConcatLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const ConcatParameter& param = this->layer_param_.concat_param();
  const string& name = this->layer_param_.name();
  const int num_axes = bottom[0]->num_axes();
  if (param.has_concat_dim()) {
    CHECK_LT(param.concat_dim(), static_cast<uint32_t>(num_axes))
        << "Layer " << name << ": concat_dim out of range.";
    concat_axis_ = static_cast<int>(param.concat_dim());
  } else {
    concat_axis_ = bottom[0]->CanonicalAxisIndex(param.axis());
  }
  vector<int> shape = bottom[0]->shape();
  int64_t joined = 0;
  for (size_t i = 0; i < bottom.size(); ++i) {
    CHECK_EQ(bottom[i]->num_axes(), num_axes)
        << "Layer " << name
        << ": all bottoms must have the same number of axes; bottom 0 has shape "
        << bottom[0]->shape_string() << ", bottom " << i << " has shape "
        << bottom[i]->shape_string() << ".";
    for (int axis = 0; axis < num_axes; ++axis) {
      CHECK(axis == concat_axis_ || bottom[i]->shape(axis) == shape[axis])
          << "Layer " << name << ": all bottoms must have the same shape except at axis "
          << concat_axis_ << "; bottom 0 has shape " << bottom[0]->shape_string() << ", bottom "
          << i << " has shape " << bottom[i]->shape_string() << ".";
    }
    joined += bottom[i]->shape(concat_axis_);
  }
  CHECK_LE(joined, INT_MAX) << "Layer " << name << ": axis " << concat_axis_ << " is too large.";
  shape[concat_axis_] = static_cast<int>(joined);
  top[0]->Reshape(shape);
  num_concats_ = bottom[0]->count(0, concat_axis_);
  concat_input_size_ = bottom[0]->count(concat_axis_ + 1);
}

template <typename Dtype>
MemoryTraits ConcatLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& /*top*/,
                                        const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  // Whole blocks of channels, or whole items, are joined.
  traits.takes_blocks = concat_axis_ <= 1;
  traits.sliceable = concat_axis_ > 0;
  if (bottom.size() == 1) {
    traits.data_views = {{0, 0}};
    if (propagate_down[0]) traits.diff_views = {{0, 0}};
    return traits;
  }
  OperandVariant backward;
  for (size_t i = 0; i < bottom.size(); ++i) {
    traits.forward.reads.push_back(BottomData(i));
    if (propagate_down[i]) backward.writes.push_back(BottomDiff(i));
  }
  traits.forward.writes = {TopData(0)};
  backward.reads = {TopDiff(0)};
  if (!backward.writes.empty()) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void ConcatLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  if (bottom.size() == 1) {
    top[0]->ShareData(*bottom[0]);
    return;
  }
  const int rows = top[0]->count(0, concat_axis_);
  const int top_width = top[0]->count(concat_axis_);
  Dtype* to = MutableData(context, top[0]);
  for (const Blob<Dtype>* blob : bottom) {
    const int width = blob->count(concat_axis_);
    kernels::CopyRows(context, rows, width, Data(context, *blob), width, to, top_width);
    to += width;
  }
}

template <typename Dtype>
void ConcatLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (bottom.size() == 1) {
    if (propagate_down[0]) bottom[0]->ShareDiff(*top[0]);
    return;
  }
  const int rows = top[0]->count(0, concat_axis_);
  const int top_width = top[0]->count(concat_axis_);
  const Dtype* from = Diff(context, *top[0]);
  for (size_t i = 0; i < bottom.size(); ++i) {
    const int width = bottom[i]->count(concat_axis_);
    if (propagate_down[i]) {
      kernels::CopyRows(context, rows, width, from, top_width, MutableDiff(context, bottom[i]),
                        width);
    }
    from += width;
  }
}

/// All dimensions. Along the concatenated one, each device joins its parts of the bottoms.
static LayerRule ConcatRule(const LayerShapes& shapes) {
  const ConcatParameter& param = shapes.param.concat_param();
  const auto axes = static_cast<int>(shapes.bottom[0].size());
  int axis = param.has_concat_dim() ? static_cast<int>(param.concat_dim()) : param.axis();
  if (axis < 0) axis += axes;
  LayerRule rule;
  for (int d = 0; d < axes; ++d) {
    LayerAxis cut = AxisOf(d == 0   ? "item"
                           : d == 1 ? "channel"
                                    : "dim " + std::to_string(d),
                           shapes, d);
    if (d == axis) {
      cut.extent = 0;
      for (const vector<int64_t>& dims : shapes.bottom) cut.extent = std::gcd(cut.extent, dims[d]);
      cut.joins = true;
    }
    rule.axes.push_back(cut);
  }
  return rule;
}

INSTANTIATE_CLASS(ConcatLayer);
REGISTER_LAYER_CLASS(Concat);
REGISTER_LAYER_AXES(Concat, ConcatRule);

}  // namespace caffe
