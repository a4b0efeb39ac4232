#include "caffe/layers/softmax_layer.hpp"

#include "caffe/kernels/copy.hpp"
#include "caffe/kernels/softmax.hpp"

namespace caffe {

template <typename Dtype>
void SoftmaxLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  softmax_axis_ = bottom[0]->CanonicalAxisIndex(this->layer_param_.softmax_param().axis());
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
MemoryTraits SoftmaxLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& /*top*/,
                                         const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {{"y", static_cast<int64_t>(bottom[0]->count() * sizeof(Dtype))}};
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  if (!propagate_down[0]) return traits;
  for (const Operand& y : {TopData(0), Saved(0)}) {
    OperandForm form;
    form.name = y.kind == Operand::kSaved ? "saved" : "y";
    form.reads = {y, TopDiff(0)};
    form.writes = {BottomDiff(0)};
    form.may_alias = {{BottomDiff(0), TopDiff(0)}, {BottomDiff(0), y}};
    traits.backward.push_back(form);
  }
  return traits;
}

template <typename Dtype>
void SoftmaxLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                    const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Dtype* y = MutableData(context, top[0]);
  kernels::SoftmaxForward(context, kernels::ScoresAlong(*bottom[0], softmax_axis_),
                          Data(context, *bottom[0]), y);
  if (Dtype* saved = this->template SavedBytes<Dtype>(0)) {
    kernels::Copy(context, top[0]->count(), y, saved);
  }
}

template <typename Dtype>
void SoftmaxLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Dtype* saved = this->template SavedBytes<Dtype>(0);
  kernels::SoftmaxBackward(context, kernels::ScoresAlong(*bottom[0], softmax_axis_),
                           saved ? saved : Data(context, *top[0]), Diff(context, *top[0]),
                           MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(SoftmaxLayer);
REGISTER_LAYER_CLASS(Softmax);

}  // namespace caffe
