#include "caffe/layers/silence_layer.hpp"

#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
MemoryTraits SilenceLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& /*top*/,
                                         const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  OperandVariant backward;
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (propagate_down[i]) backward.writes.push_back(BottomDiff(i));
  }
  if (!backward.writes.empty()) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void SilenceLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                     const vector<Blob<Dtype>*>& /*top*/,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (!propagate_down[i]) continue;
    kernels::Fill(context, bottom[i]->count(), Dtype(0), MutableDiff(context, bottom[i]));
  }
}

static LayerRule SilenceRule(const LayerShapes& shapes) { return Axes({ItemAxis(shapes)}); }

INSTANTIATE_CLASS(SilenceLayer);
REGISTER_LAYER_CLASS(Silence);
REGISTER_LAYER_AXES(Silence, SilenceRule);

}  // namespace caffe
