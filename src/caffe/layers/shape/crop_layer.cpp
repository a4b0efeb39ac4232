#include "caffe/layers/crop_layer.hpp"

#include "caffe/kernels/shape/crop.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void CropLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& /*top*/) {
  const CropParameter& param = this->layer_param_.crop_param();
  crop_axis_ = bottom[0]->CanonicalAxisIndex(param.axis());
  const int cropped = bottom[0]->num_axes() - crop_axis_;
  CHECK(param.offset_size() <= 1 || param.offset_size() == cropped)
      << "Layer " << this->layer_param_.name() << ": number of offset values specified ("
      << param.offset_size() << ") must be 0, 1, or that of the axes from " << crop_axis_ << " on ("
      << cropped << ").";
}

template <typename Dtype>
int64_t CropLayer<Dtype>::Offset(int axis) const {
  const CropParameter& param = this->layer_param_.crop_param();
  if (axis < crop_axis_ || param.offset_size() == 0) return 0;
  return param.offset(param.offset_size() == 1 ? 0 : axis - crop_axis_);
}

template <typename Dtype>
void CropLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK(top[0] != bottom[0] && top[0] != bottom[1])
      << "Layer " << name << ": Crop cannot run in place.";
  CHECK_EQ(bottom[0]->num_axes(), bottom[1]->num_axes())
      << "Layer " << name << ": the bottoms, shapes " << bottom[0]->shape_string() << " and "
      << bottom[1]->shape_string() << ", must have the same number of axes.";
  vector<int> shape = bottom[0]->shape();
  for (int i = crop_axis_; i < bottom[0]->num_axes(); ++i) {
    shape[i] = bottom[1]->shape(i);
    CHECK_GE(bottom[0]->shape(i), Offset(i) + shape[i])
        << "Layer " << name << ": the crop for dimension " << i << " is out-of-bounds with offset "
        << Offset(i) << ": from shape " << bottom[0]->shape_string() << " to "
        << bottom[1]->shape_string() << ".";
  }
  top[0]->Reshape(shape);
}

template <typename Dtype>
MemoryTraits CropLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  if (!propagate_down[0]) return traits;
  OperandVariant backward;
  backward.reads = {TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
kernels::Box CropLayer<Dtype>::CutOut(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const {
  kernels::Box box;
  box.axes = bottom.num_axes();
  for (int i = 0; i < box.axes; ++i) {
    box.dims[i] = bottom.shape(i);
    box.offset[i] = static_cast<int>(Offset(i));
    box.size[i] = top.shape(i);
  }
  return box;
}

template <typename Dtype>
void CropLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  kernels::CropForward(context, CutOut(*bottom[0], *top[0]), Data(context, *bottom[0]),
                       MutableData(context, top[0]));
}

template <typename Dtype>
void CropLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  kernels::CropBackward(context, CutOut(*bottom[0], *top[0]), Diff(context, *top[0]),
                        MutableDiff(context, bottom[0]));
}

static LayerRule CropRule(const LayerShapes& shapes) {
  const int axes = static_cast<int>(shapes.bottom[0].size()),
            axis = shapes.param.crop_param().axis();
  LayerRule rule;
  for (int d = 0; d < (axis < 0 ? axis + axes : axis); ++d)
    rule.axes.push_back(AxisOf(d == 0 ? "item" : "dim " + std::to_string(d), shapes, d));
  return rule;
}

INSTANTIATE_CLASS(CropLayer);
REGISTER_LAYER_CLASS(Crop);
REGISTER_LAYER_AXES(Crop, CropRule);

}  // namespace caffe
