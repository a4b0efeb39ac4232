#include "caffe/layers/parameter_layer.hpp"

#include "caffe/kernels/math/eltwise.hpp"
#include "caffe/layer_axes.hpp"
#include "derived.hpp"

namespace caffe {

template <typename Dtype>
void ParameterLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                       const vector<Blob<Dtype>*>& top) {
  Blob<Dtype> shape;
  shape.Reshape(this->layer_param_.parameter_param().shape());
  if (this->blobs_.empty()) {
    this->blobs_.emplace_back(new Blob<Dtype>(shape.shape()));
  } else {
    CHECK(this->blobs_.size() == 1 && this->blobs_[0]->shape() == shape.shape())
        << "Layer " << this->layer_param_.name() << ": its parameter must be one blob of shape "
        << shape.shape_string() << ".";
    LOG(INFO) << "Skipping parameter initialization";
  }
  this->param_propagate_down_.resize(1, true);
  top[0]->Reshape(shape.shape());
}

template <typename Dtype>
MemoryTraits ParameterLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                           const vector<Blob<Dtype>*>& /*top*/,
                                           const vector<bool>& /*propagate_down*/) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.param_views = {{0, 0}};
  if (!this->param_propagate_down(0)) return traits;
  OperandVariant backward;
  backward.reads = {TopDiff(0), ParamDiff(0)};
  backward.writes = {ParamDiff(0)};
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void ParameterLayer<Dtype>::ForwardOn(const DeviceContext& /*context*/,
                                      const vector<Blob<Dtype>*>& /*bottom*/,
                                      const vector<Blob<Dtype>*>& top) {
  top[0]->ShareData(*this->blobs_[0]);
}

template <typename Dtype>
void ParameterLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                       const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& /*propagate_down*/,
                                       const vector<Blob<Dtype>*>& /*bottom*/) {
  if (!this->param_propagate_down(0)) return;
  Dtype* sum = MutableDiff(context, this->blobs_[0].get());
  kernels::WeightedSum(context, top[0]->count(), Dtype(1), sum, Dtype(1), Diff(context, *top[0]),
                       sum);
}

INSTANTIATE_CLASS(ParameterLayer);
REGISTER_LAYER_CLASS(Parameter);
REGISTER_NO_LAYER_AXES(Parameter, "its top is its parameter");

}  // namespace caffe
