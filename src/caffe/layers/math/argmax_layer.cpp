#include "caffe/layers/argmax_layer.hpp"

#include <algorithm>

#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/math/argmax.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/loss/sample_loss.hpp"

namespace caffe {

template <typename Dtype>
void ArgMaxLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& /*top*/) {
  const ArgMaxParameter& param = this->layer_param_.argmax_param();
  out_max_val_ = param.out_max_val();
  top_k_ = param.top_k();
  has_axis_ = param.has_axis();
  axis_ = has_axis_ ? bottom[0]->CanonicalAxisIndex(param.axis()) : 0;
}

template <typename Dtype>
void ArgMaxLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  const int values = has_axis_ ? bottom[0]->shape(axis_) : bottom[0]->count(1);
  CHECK_GE(top_k_, 1u) << "Layer " << name << ": top_k must not be less than 1.";
  CHECK_LE(top_k_, static_cast<size_t>(values))
      << "Layer " << name << ": top_k must be less than or equal to the number of values, "
      << (has_axis_ ? "those along the axis" : "those of a sample") << "; the bottom's shape is "
      << bottom[0]->shape_string() << ".";
  vector<int> shape = bottom[0]->shape();
  if (has_axis_) {
    shape[axis_] = static_cast<int>(top_k_);
  } else {
    shape.assign(std::max(bottom[0]->num_axes(), 3), 1);
    shape[0] = bottom[0]->shape(0);
    shape[1] = out_max_val_ ? 2 : 1;
    shape[2] = static_cast<int>(top_k_);
  }
  top[0]->Reshape(shape);
}

template <typename Dtype>
MemoryTraits ArgMaxLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down) const {
  if (IsDerived(*this)) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  MemoryTraits traits;
  traits.declared = true;
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  return traits;
}

template <typename Dtype>
void ArgMaxLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const auto k = static_cast<int64_t>(top_k_);
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* y = MutableData(context, top[0]);
  if (has_axis_) {
    kernels::HighestScores(context, kernels::ScoresAlong(*bottom[0], axis_), k, x, k,
                           out_max_val_ ? nullptr : y, out_max_val_ ? y : nullptr);
  } else {
    kernels::HighestScores(context, ScoresOfSamples(*bottom[0]), k, x, out_max_val_ ? 2 * k : k, y,
                           out_max_val_ ? y + k : nullptr);
  }
}

template <typename Dtype>
void ArgMaxLayer<Dtype>::BackwardOn(const DeviceContext& /*context*/,
                                    const vector<Blob<Dtype>*>& /*top*/,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& /*bottom*/) {
  CHECK(!propagate_down[0]) << "Layer " << this->layer_param_.name() << ": ArgMax has no gradient.";
}

static LayerRule ArgMaxRule(const LayerShapes& shapes) {
  const ArgMaxParameter& param = shapes.param.argmax_param();
  const int axis = param.axis();
  if (param.has_axis() && (axis == 0 || axis == -static_cast<int>(shapes.bottom[0].size())))
    return NoAxes("it compares the items");
  return Axes({ItemAxis(shapes)});
}

INSTANTIATE_CLASS(ArgMaxLayer);
REGISTER_LAYER_CLASS(ArgMax);
REGISTER_LAYER_AXES(ArgMax, ArgMaxRule);

}  // namespace caffe
