#include "caffe/layers/normalize_layer.hpp"

#include <algorithm>

#include "caffe/filler.hpp"
#include "caffe/kernels/norm/l2_normalize.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"
#include "caffe/layers/unary_traits.hpp"

namespace caffe {
namespace {

enum NormalizeSavedIndex { kNormalizeInverse, kNormalizeInput };
enum NormalizeVariant { kNormalizeFromX, kNormalizeFromSaved };

}  // namespace

template <typename Dtype>
void NormalizeLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& /*top*/) {
  const NormalizeParameter& param = this->layer_param_.norm_param();
  const string& name = this->layer_param_.name();
  CHECK_GE(bottom[0]->num_axes(), 2) << "Layer " << name << ": the bottom has no channels, its "
                                     << "shape is " << bottom[0]->shape_string() << ".";
  CHECK_GE(param.eps(), 0) << "Layer " << name << ": norm_param.eps must not be negative.";
  if (!this->blobs_.empty()) {
    CHECK_EQ(this->blobs_.size(), 1) << "Layer " << name << ": Incorrect number of weight blobs.";
    LOG(INFO) << "Skipping parameter initialization";
  } else {
    FillerParameter filler = param.scale_filler();
    if (!param.has_scale_filler()) filler.set_value(1);
    this->blobs_.emplace_back(new Blob<Dtype>(
        param.channel_shared() ? vector<int>() : vector<int>(1, bottom[0]->shape(1))));
    shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(filler))->Fill(this->blobs_[0].get());
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void NormalizeLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK_GE(bottom[0]->num_axes(), 2) << "Layer " << name << ": the bottom has no channels, its "
                                     << "shape is " << bottom[0]->shape_string() << ".";
  const bool shared = this->layer_param_.norm_param().channel_shared();
  CHECK_EQ(this->blobs_[0]->count(), shared ? 1 : bottom[0]->shape(1))
      << "Layer " << name << ": the scale has shape " << this->blobs_[0]->shape_string()
      << ", the bottom " << bottom[0]->shape_string() << ".";
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
kernels::L2Shape NormalizeLayer<Dtype>::Shape(const Blob<Dtype>& bottom) const {
  const NormalizeParameter& param = this->layer_param_.norm_param();
  return {bottom.shape(0), bottom.shape(1), bottom.count(2), param.across_spatial(),
          param.channel_shared()};
}

template <typename Dtype>
MemoryTraits NormalizeLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& /*top*/,
                                           const vector<bool>& propagate_down) const {
  const int64_t value = sizeof(Dtype);
  const kernels::L2Shape shape = Shape(*bottom[0]);
  const bool scale_gradient = this->param_propagate_down(0);
  const double values = bottom[0]->count();
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.saved = {{"inverse_norm", value * shape.Norms()}, {"x", value * bottom[0]->count()}};
  traits.forward.reads = {BottomData(0), ParamData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  traits.forward.workspace_bytes = value * shape.Norms();
  traits.forward.flops = 4 * values;
  if (!scale_gradient && !propagate_down[0]) return traits;
  OperandVariant backward;
  backward.reads = {TopDiff(0), Saved(kNormalizeInverse)};
  backward.flops = (3.0 * scale_gradient + 7.0 * propagate_down[0]) * values;
  if (scale_gradient) {
    backward.reads.push_back(ParamDiff(0));
    backward.writes.push_back(ParamDiff(0));
    if (shape.shared_scale) backward.workspace_bytes = value * shape.outer;
  }
  if (propagate_down[0]) {
    backward.reads.push_back(ParamData(0));
    backward.writes.push_back(BottomDiff(0));
    backward.workspace_bytes = std::max(backward.workspace_bytes, value * shape.Norms());
  }
  // The gradient of the scale is computed first.
  traits.backward = VariantsByInput(backward, Saved(kNormalizeInput), propagate_down[0]);
  return traits;
}

template <typename Dtype>
void NormalizeLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                      const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const kernels::L2Shape shape = Shape(*bottom[0]);
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* saved = this->template SavedBytes<Dtype>(kNormalizeInverse);
  Dtype* inverse = saved != nullptr ? saved : this->template WorkspaceBytes<Dtype>();
  kernels::InverseL2Norms<Dtype>(context, shape, this->layer_param_.norm_param().eps(), x, inverse);
  kernels::L2NormalizeForward(context, shape, x, inverse, Data(context, *this->blobs_[0]),
                              MutableData(context, top[0]),
                              this->template SavedBytes<Dtype>(kNormalizeInput));
}

template <typename Dtype>
void NormalizeLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                       const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  const bool scale_gradient = this->param_propagate_down(0);
  if (!scale_gradient && !propagate_down[0]) return;
  const kernels::L2Shape shape = Shape(*bottom[0]);
  const Dtype* x = this->variant() == kNormalizeFromX
                       ? Data(context, *bottom[0])
                       : this->template SavedBytes<Dtype>(kNormalizeInput);
  const Dtype* inverse = this->template SavedBytes<Dtype>(kNormalizeInverse);
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* workspace = this->template WorkspaceBytes<Dtype>();
  if (scale_gradient) {
    kernels::L2ScaleGradient(context, shape, x, inverse, dy,
                             MutableDiff(context, this->blobs_[0].get()), workspace);
  }
  if (propagate_down[0]) {
    kernels::L2NormalizeBackward(context, shape, x, inverse, Data(context, *this->blobs_[0]), dy,
                                 MutableDiff(context, bottom[0]), workspace);
  }
}

static LayerRule NormalizeRule(const LayerShapes& shapes) { return Axes({ItemAxis(shapes)}); }

INSTANTIATE_CLASS(NormalizeLayer);
REGISTER_FORK_LAYER_CLASS(Normalize);
REGISTER_LAYER_AXES(Normalize, NormalizeRule);

}  // namespace caffe
