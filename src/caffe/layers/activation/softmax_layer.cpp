#include "caffe/layers/softmax_layer.hpp"

#include "caffe/kernels/activation/softmax.hpp"
#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/output_traits.hpp"

namespace caffe {

template <typename Dtype>
void SoftmaxLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  softmax_axis_ = bottom[0]->CanonicalAxisIndex(this->layer_param_.softmax_param().axis());
  outer_num_ = bottom[0]->count(0, softmax_axis_);
  inner_num_ = bottom[0]->count(softmax_axis_ + 1);
  top[0]->ReshapeLike(*bottom[0]);
  if (!IsDerived(*this)) return;
  vector<int> one_class = bottom[0]->shape();
  one_class[softmax_axis_] = 1;
  scale_.Reshape(one_class);
  sum_multiplier_.Reshape({bottom[0]->shape(softmax_axis_)});
  caffe_set(sum_multiplier_.count(), Dtype(1), sum_multiplier_.mutable_cpu_data());
}

template <typename Dtype>
MemoryTraits SoftmaxLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down) const {
  if (IsDerived(*this)) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  const DeviceContext context = DeviceContext::Current();
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], softmax_axis_);
  MemoryTraits traits = TraitsFromOutput(shape.count() * int64_t{sizeof(Dtype)}, propagate_down[0]);
  traits.capturable = true;
  traits.sliceable = softmax_axis_ > 0;
  traits.forward.algorithms = kernels::SoftmaxEngines<Dtype>(context, shape, false);
  if (!propagate_down[0]) return traits;
  const vector<Algorithm> engines = kernels::SoftmaxEngines<Dtype>(context, shape, true);
  for (OperandVariant& variant : traits.backward) variant.algorithms = engines;
  return traits;
}

template <typename Dtype>
void SoftmaxLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                    const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Dtype* y = MutableData(context, top[0]);
  kernels::SoftmaxForward(context, kernels::ScoresAlong(*bottom[0], softmax_axis_),
                          Data(context, *bottom[0]), y,
                          {this->template WorkspaceBytes<void>(), this->algorithm()});
  if (Dtype* saved = IsDerived(*this) ? nullptr : this->template SavedBytes<Dtype>(0)) {
    kernels::Copy(context, top[0]->count(), y, saved);
  }
}

template <typename Dtype>
void SoftmaxLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Dtype* saved = IsDerived(*this) ? nullptr : this->template SavedBytes<Dtype>(0);
  kernels::SoftmaxBackward(context, kernels::ScoresAlong(*bottom[0], softmax_axis_),
                           saved ? saved : Data(context, *top[0]), Diff(context, *top[0]),
                           MutableDiff(context, bottom[0]),
                           {this->template WorkspaceBytes<void>(), this->algorithm()});
}

/// All axes but that of the classes, which stay together on one device.
static LayerRule SoftmaxRule(const LayerShapes& shapes) {
  const auto axes = static_cast<int>(shapes.bottom[0].size());
  const int axis = shapes.param.softmax_param().axis();
  LayerRule rule;
  for (int d = 0; d < axes; ++d) {
    if (d != (axis < 0 ? axis + axes : axis))
      rule.axes.push_back(AxisOf("dim " + std::to_string(d), shapes, d));
  }
  return rule;
}

INSTANTIATE_CLASS(SoftmaxLayer);
REGISTER_LAYER_CLASS(Softmax);
REGISTER_LAYER_AXES(Softmax, SoftmaxRule);

}  // namespace caffe
