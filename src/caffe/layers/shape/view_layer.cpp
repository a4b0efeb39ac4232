#include "caffe/layers/view_layer.hpp"

#include "caffe/layers/derived.hpp"
#include "caffe/layers/flatten_layer.hpp"
#include "caffe/layers/reshape_layer.hpp"

namespace caffe {

template <typename Dtype>
void ViewLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK(top[0] != bottom[0]) << "Layer " << name << ": " << this->type()
                             << " does not allow in-place computation.";
  top[0]->Reshape(ViewShape(*bottom[0]));
  CHECK_EQ(top[0]->count(), bottom[0]->count())
      << "Layer " << name << ": output count must match input count; the top would have shape "
      << top[0]->shape_string() << ", the bottom has shape " << bottom[0]->shape_string() << ".";
}

template <typename Dtype>
MemoryTraits ViewLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerivedFrom<FlattenLayer, ReshapeLayer>(*this);
  traits.sliceable =
      dynamic_cast<const FlattenLayer<Dtype>*>(this) && top[0]->shape(0) == bottom[0]->shape(0);
  traits.data_views = {{0, 0}};
  if (propagate_down[0]) traits.diff_views = {{0, 0}};
  return traits;
}

template <typename Dtype>
void ViewLayer<Dtype>::ForwardOn(const DeviceContext& /*context*/,
                                 const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  top[0]->ShareData(*bottom[0]);
}

template <typename Dtype>
void ViewLayer<Dtype>::BackwardOn(const DeviceContext& /*context*/, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  if (propagate_down[0]) bottom[0]->ShareDiff(*top[0]);
}

INSTANTIATE_CLASS(ViewLayer);

}  // namespace caffe
