#include "caffe/layers/upsample_layer.hpp"

#include <climits>

#include "caffe/kernels/pooling/upsample.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"
#include "caffe/layers/shape/row_numbers.hpp"

namespace caffe {

template <typename Dtype>
void UpsampleLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/) {
  const UpsampleParameter& param = this->layer_param_.upsample_param();
  const string& name = this->layer_param_.name();
  CHECK_EQ(param.has_scale_h(), param.has_scale_w())
      << "Layer " << name << ": scale_h and scale_w must be given together.";
  CHECK(!param.has_scale() || !param.has_scale_h())
      << "Layer " << name << ": either scale or scale_h and scale_w; not both.";
  CHECK_EQ(param.has_upsample_h(), param.has_upsample_w())
      << "Layer " << name << ": upsample_h and upsample_w must be given together.";
  CHECK(bottom.size() > 1 || (!param.has_upsample_h() && !param.pad_out_h() && !param.pad_out_w()))
      << "Layer " << name << ": upsample_h, upsample_w, pad_out_h and pad_out_w need a mask as "
      << "second bottom.";
  const uint32_t scale_h = param.has_scale_h() ? param.scale_h() : param.scale();
  const uint32_t scale_w = param.has_scale_w() ? param.scale_w() : param.scale();
  CHECK(scale_h > 0 && scale_h <= INT_MAX && scale_w > 0 && scale_w <= INT_MAX)
      << "Layer " << name << ": a scale must be from 1 to " << INT_MAX << ".";
  scale_h_ = static_cast<int>(scale_h);
  scale_w_ = static_cast<int>(scale_w);
}

template <typename Dtype>
void UpsampleLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const UpsampleParameter& param = this->layer_param_.upsample_param();
  const string& name = this->layer_param_.name();
  for (const Blob<Dtype>* blob : bottom) {
    CHECK_EQ(blob->num_axes(), 4) << "Layer " << name << ": bottoms must have four axes, not shape "
                                  << blob->shape_string() << ".";
    CHECK(blob->shape() == bottom[0]->shape())
        << "Layer " << name << ": the mask has shape " << blob->shape_string() << ", the values "
        << bottom[0]->shape_string() << ".";
    CHECK(top[0] != blob) << "Layer " << name << ": Upsample cannot run in place.";
  }
  const int64_t height = param.has_upsample_h()
                             ? int64_t{param.upsample_h()}
                             : int64_t{bottom[0]->shape(2)} * scale_h_ - param.pad_out_h();
  const int64_t width = param.has_upsample_w()
                            ? int64_t{param.upsample_w()}
                            : int64_t{bottom[0]->shape(3)} * scale_w_ - param.pad_out_w();
  CHECK(height > 0 && height <= INT_MAX && width > 0 && width <= INT_MAX)
      << "Layer " << name << ": the top cannot have " << height << " x " << width << " values.";
  top[0]->Reshape({bottom[0]->shape(0), bottom[0]->shape(1), static_cast<int>(height),
                   static_cast<int>(width)});
}

template <typename Dtype>
MemoryTraits UpsampleLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& /*top*/,
                                          const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  OperandVariant backward;
  backward.reads = {TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  if (bottom.size() > 1) {
    traits.forward.reads.push_back(BottomData(1));
    backward.reads.push_back(BottomData(1));
  }
  if (propagate_down[0]) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void UpsampleLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                     const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const Blob<Dtype>& values = *bottom[0];
  const Dtype* x = Data(context, values);
  Dtype* y = MutableData(context, top[0]);
  if (bottom.size() == 1) {
    kernels::RepeatForward(context, values.count(0, 2), values.shape(2), values.shape(3), scale_h_,
                           scale_w_, x, y);
    return;
  }
  const int size = top[0]->count(2);
  if (!context.gpu) CheckRowNumbers(this->layer_param_.name(), *bottom[1], size);
  kernels::PlaceForward(context, values.count(0, 2), values.count(2), size, x,
                        Data(context, *bottom[1]), y);
}

template <typename Dtype>
void UpsampleLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Blob<Dtype>& values = *bottom[0];
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  if (bottom.size() == 1) {
    kernels::RepeatBackward(context, values.count(0, 2), values.shape(2), values.shape(3), scale_h_,
                            scale_w_, dy, dx);
    return;
  }
  kernels::PlaceBackward(context, values.count(0, 2), values.count(2), top[0]->count(2),
                         Data(context, *bottom[1]), dy, dx);
}

static LayerRule UpsampleRule(const LayerShapes& shapes) {
  return Axes({ItemAxis(shapes), AxisOf("channel", shapes, 1)});
}

INSTANTIATE_CLASS(UpsampleLayer);
REGISTER_FORK_LAYER_CLASS(Upsample);
REGISTER_LAYER_AXES(Upsample, UpsampleRule);

}  // namespace caffe
