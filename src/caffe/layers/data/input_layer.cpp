#include "caffe/layers/input_layer.hpp"

#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void InputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                   const vector<Blob<Dtype>*>& top) {
  const InputParameter& param = this->layer_param_.input_param();
  const int tops = static_cast<int>(top.size());
  const int shapes = param.shape_size();
  CHECK(shapes == 0 || shapes == 1 || shapes == tops)
      << "Layer " << this->layer_param_.name() << ": must specify 'shape' once, once per top ("
      << tops << "), or not at all, not " << shapes << " times.";
  for (int i = 0; i < tops && shapes > 0; ++i) top[i]->Reshape(param.shape(shapes > 1 ? i : 0));
}

template <typename Dtype>
MemoryTraits InputLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                       const vector<Blob<Dtype>*>& /*top*/,
                                       const vector<bool>& /*propagate_down*/) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.repeatable = false;
  traits.user_tops = true;
  return traits;
}

INSTANTIATE_CLASS(InputLayer);
REGISTER_LAYER_CLASS(Input);
REGISTER_NO_LAYER_AXES(Input, "users fill it as a whole");

}  // namespace caffe
