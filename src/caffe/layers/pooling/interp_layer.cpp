#include "caffe/layers/interp_layer.hpp"

#include <climits>

#include "caffe/kernels/pooling/interp.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"

namespace caffe {

template <typename Dtype>
void InterpLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& /*top*/) {
  const InterpParameter& param = this->layer_param_.interp_param();
  const string& name = this->layer_param_.name();
  const bool factors = param.has_zoom_factor() || param.has_shrink_factor();
  CHECK_EQ(param.has_height(), param.has_width())
      << "Layer " << name << ": height and width must be given together.";
  CHECK_EQ((bottom.size() > 1) + param.has_height() + factors, 1)
      << "Layer " << name << ": the size of the top must be given once: by a second bottom, by "
      << "height and width, or by zoom_factor and shrink_factor.";
  CHECK(!param.has_height() || (param.height() > 0 && param.width() > 0))
      << "Layer " << name << ": height and width must be positive.";
  CHECK(param.zoom_factor() > 0 && param.shrink_factor() > 0)
      << "Layer " << name << ": zoom_factor and shrink_factor must be positive.";
  CHECK(param.pad_beg() <= 0 && param.pad_end() <= 0)
      << "Layer " << name << ": pad_beg and pad_end must be 0 or less: they cut values off.";
}

template <typename Dtype>
int InterpLayer<Dtype>::Resized(int size) const {
  const InterpParameter& param = this->layer_param_.interp_param();
  const int64_t left = (size - 1) / param.shrink_factor();
  const int64_t result = left * param.zoom_factor() + 1;
  CHECK_LE(result, INT_MAX) << "Layer " << this->layer_param_.name() << ": zoom_factor "
                            << param.zoom_factor() << " makes the top too large.";
  return static_cast<int>(result);
}

template <typename Dtype>
void InterpLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const InterpParameter& param = this->layer_param_.interp_param();
  const string& name = this->layer_param_.name();
  for (const Blob<Dtype>* blob : bottom) {
    CHECK_EQ(blob->num_axes(), 4) << "Layer " << name << ": bottoms must have four axes, not shape "
                                  << blob->shape_string() << ".";
    CHECK(top[0] != blob) << "Layer " << name << ": Interp cannot run in place.";
  }
  const int64_t cut = int64_t{param.pad_beg()} + param.pad_end();
  CHECK(bottom[0]->shape(2) + cut > 0 && bottom[0]->shape(3) + cut > 0)
      << "Layer " << name << ": pad_beg " << param.pad_beg() << " and pad_end " << param.pad_end()
      << " leave nothing of shape " << bottom[0]->shape_string() << ".";
  vector<int> shape = bottom[0]->shape();
  for (const int axis : {2, 3}) {
    if (bottom.size() > 1) {
      shape[axis] = bottom[1]->shape(axis);
      CHECK_GT(shape[axis], 0) << "Layer " << name << ": the second bottom has shape "
                               << bottom[1]->shape_string() << "; it must have rows and columns.";
    } else if (param.has_height()) {
      shape[axis] = axis == 2 ? param.height() : param.width();
    } else {
      shape[axis] = Resized(static_cast<int>(shape[axis] + cut));
    }
  }
  top[0]->Reshape(shape);
}

template <typename Dtype>
MemoryTraits InterpLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                        const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.flops = 11.0 * top[0]->count();
  if (!propagate_down[0]) return traits;
  OperandVariant backward;
  backward.reads = {TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  backward.flops = traits.forward.flops;
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
kernels::Interpolation InterpLayer<Dtype>::Map(const Blob<Dtype>& bottom,
                                               const Blob<Dtype>& top) const {
  const InterpParameter& param = this->layer_param_.interp_param();
  const int cut = param.pad_beg() + param.pad_end();
  kernels::Interpolation map;
  map.planes = bottom.count(0, 2);
  map.height = bottom.shape(2);
  map.width = bottom.shape(3);
  map.top = map.left = -param.pad_beg();
  map.from_height = map.height + cut;
  map.from_width = map.width + cut;
  map.to_height = top.shape(2);
  map.to_width = top.shape(3);
  return map;
}

template <typename Dtype>
void InterpLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  kernels::InterpForward(context, Map(*bottom[0], *top[0]), Data(context, *bottom[0]),
                         MutableData(context, top[0]));
}

template <typename Dtype>
void InterpLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  kernels::InterpBackward(context, Map(*bottom[0], *top[0]), Diff(context, *top[0]),
                          MutableDiff(context, bottom[0]));
}

static LayerRule InterpRule(const LayerShapes& shapes) {
  return Axes({ItemAxis(shapes), AxisOf("channel", shapes, 1)});
}

INSTANTIATE_CLASS(InterpLayer);
REGISTER_FORK_LAYER_CLASS(Interp);
REGISTER_LAYER_AXES(Interp, InterpRule);

}  // namespace caffe
