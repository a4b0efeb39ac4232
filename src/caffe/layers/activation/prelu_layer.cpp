#include "caffe/layers/prelu_layer.hpp"

#include "caffe/filler.hpp"
#include "caffe/kernels/activation/prelu.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/unary_traits.hpp"

namespace caffe {
namespace {

enum PReLUVariant { kPReLUFromX, kPReLUFromSaved };

}  // namespace

template <typename Dtype>
void PReLULayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  NeuronLayer<Dtype>::LayerSetUp(bottom, top);
  const PReLUParameter& param = this->layer_param_.prelu_param();
  const string& name = this->layer_param_.name();
  CHECK_GE(bottom[0]->num_axes(), 2)
      << "Layer " << name << ": Number of axes of bottom blob must be >=2.";
  channel_shared_ = param.channel_shared();
  if (!this->blobs_.empty()) {
    CHECK_EQ(this->blobs_.size(), 1) << "Layer " << name << ": Incorrect number of weight blobs.";
    LOG(INFO) << "Skipping parameter initialization";
  } else {
    const vector<int> shape = channel_shared_ ? vector<int>() : vector<int>(1, bottom[0]->shape(1));
    FillerParameter filler = param.filler();
    if (!param.has_filler()) filler.set_value(0.25);
    this->blobs_.emplace_back(new Blob<Dtype>(shape));
    shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(filler))->Fill(this->blobs_[0].get());
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void PReLULayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK_GE(bottom[0]->num_axes(), 2)
      << "Layer " << name << ": Number of axes of bottom blob must be >=2.";
  CHECK_EQ(this->blobs_[0]->count(), channel_shared_ ? 1 : bottom[0]->shape(1))
      << "Layer " << name << ": Negative slope size is inconsistent with prototxt config.";
  NeuronLayer<Dtype>::Reshape(bottom, top);
}

template <typename Dtype>
kernels::PReluShape PReLULayer<Dtype>::Shape(const Blob<Dtype>& bottom) const {
  return {bottom.shape(0), bottom.shape(1), bottom.count(2), channel_shared_};
}

template <typename Dtype>
MemoryTraits PReLULayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& /*top*/,
                                       const vector<bool>& propagate_down) const {
  const bool slope_gradient = this->param_propagate_down(0);
  const double values = bottom[0]->count();
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.saved = {{"x", int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)}}};
  traits.forward.reads = {BottomData(0), ParamData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  traits.forward.flops = values;
  if (!slope_gradient && !propagate_down[0]) return traits;
  OperandVariant backward;
  backward.reads = {TopDiff(0)};
  backward.flops = (2.0 * slope_gradient + propagate_down[0]) * values;
  if (slope_gradient) {
    backward.reads.push_back(ParamDiff(0));
    backward.writes.push_back(ParamDiff(0));
    backward.workspace_bytes = kernels::PReluWorkspace(Shape(*bottom[0])) * int64_t{sizeof(Dtype)};
  }
  if (propagate_down[0]) {
    backward.reads.push_back(ParamData(0));
    backward.writes.push_back(BottomDiff(0));
  }
  // The gradient of the slope is computed first.
  traits.backward = VariantsByInput(backward, Saved(0), propagate_down[0]);
  return traits;
}

template <typename Dtype>
void PReLULayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  kernels::PReluForward(context, Shape(*bottom[0]), Data(context, *this->blobs_[0]),
                        Data(context, *bottom[0]), MutableData(context, top[0]),
                        this->template SavedBytes<Dtype>(0));
}

template <typename Dtype>
void PReLULayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  const bool slope_gradient = this->param_propagate_down(0);
  if (!slope_gradient && !propagate_down[0]) return;
  const kernels::PReluShape shape = Shape(*bottom[0]);
  const Dtype* x = this->variant() == kPReLUFromX ? Data(context, *bottom[0])
                                                  : this->template SavedBytes<Dtype>(0);
  const Dtype* dy = Diff(context, *top[0]);
  if (slope_gradient) {
    kernels::PReluSlopeGradient(context, shape, x, dy, MutableDiff(context, this->blobs_[0].get()),
                                this->template WorkspaceBytes<Dtype>());
  }
  if (propagate_down[0]) {
    kernels::PReluBackward(context, shape, Data(context, *this->blobs_[0]), x, dy,
                           MutableDiff(context, bottom[0]));
  }
}

static LayerRule PReLURule(const LayerShapes& shapes) {
  LayerRule rule = EveryDimension(shapes);
  if (!shapes.params[0].empty()) rule.axes[1].params = {0};
  return rule;
}

INSTANTIATE_CLASS(PReLULayer);
REGISTER_LAYER_CLASS(PReLU);
REGISTER_LAYER_AXES(PReLU, PReLURule);

}  // namespace caffe
