#include "caffe/layers/reduction_layer.hpp"

#include <algorithm>

#include "caffe/kernels/math/reduction.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

namespace {

kernels::Summand SummandOf(ReductionParameter_ReductionOp operation) {
  if (operation == ReductionParameter_ReductionOp_ASUM) return kernels::Summand::kAbsolute;
  if (operation == ReductionParameter_ReductionOp_SUMSQ) return kernels::Summand::kSquare;
  return kernels::Summand::kValue;
}

}  // namespace

template <typename Dtype>
void ReductionLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                       const vector<Blob<Dtype>*>& /*top*/) {
  op_ = this->layer_param_.reduction_param().operation();
}

template <typename Dtype>
void ReductionLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const ReductionParameter& param = this->layer_param_.reduction_param();
  axis_ = bottom[0]->CanonicalAxisIndex(param.axis());
  num_ = bottom[0]->count(0, axis_);
  dim_ = bottom[0]->count(axis_);
  coeff_ = static_cast<Dtype>(param.coeff());
  if (op_ == ReductionParameter_ReductionOp_MEAN) coeff_ /= static_cast<Dtype>(std::max(dim_, 1));
  const vector<int>& shape = bottom[0]->shape();
  top[0]->Reshape(vector<int>(shape.begin(), shape.begin() + axis_));
  if (!IsDerived(*this) || SummandOf(op_) != kernels::Summand::kValue) return;
  sum_multiplier_.Reshape({dim_});
  caffe_set(dim_, Dtype(1), sum_multiplier_.mutable_cpu_data());
}

template <typename Dtype>
MemoryTraits ReductionLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down) const {
  if (IsDerived(*this)) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  MemoryTraits traits;
  traits.declared = true;
  traits.capturable = true;
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  if (!propagate_down[0]) return traits;
  OperandVariant variant;
  variant.name = "dy";
  variant.reads = {TopDiff(0)};
  variant.writes = {BottomDiff(0)};
  if (SummandOf(op_) != kernels::Summand::kValue) {
    variant.name = "x";
    variant.reads.push_back(BottomData(0));
    variant.may_alias = {{BottomDiff(0), BottomData(0)}};
  }
  traits.backward.push_back(variant);
  return traits;
}

template <typename Dtype>
void ReductionLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                      const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  kernels::SumRows(context, num_, dim_, SummandOf(op_), coeff_, Data(context, *bottom[0]),
                   MutableData(context, top[0]));
}

template <typename Dtype>
void ReductionLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                       const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const kernels::Summand summand = SummandOf(op_);
  const bool reads = summand != kernels::Summand::kValue;
  const Dtype* const x = reads ? Data(context, *bottom[0]) : nullptr;
  kernels::SumRowsBackward(context, num_, dim_, summand, coeff_, x, Diff(context, *top[0]),
                           MutableDiff(context, bottom[0]));
}

static LayerRule ReductionRule(const LayerShapes& shapes) {
  if (shapes.top[0].empty()) return NoAxes("it reduces all of its input to one number");
  return Axes({ItemAxis(shapes)});
}

INSTANTIATE_CLASS(ReductionLayer);
REGISTER_LAYER_CLASS(Reduction);
REGISTER_LAYER_AXES(Reduction, ReductionRule);

}  // namespace caffe
