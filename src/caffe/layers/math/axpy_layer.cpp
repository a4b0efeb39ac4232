#include "caffe/layers/axpy_layer.hpp"

#include "caffe/kernels/math/axpy.hpp"
#include "caffe/kernels/math/scale.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"

namespace caffe {
namespace {

enum AxpyBottom { kAxpyA, kAxpyX, kAxpyY };

}  // namespace

template <typename Dtype>
void AxpyLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  const Blob<Dtype>&a = *bottom[kAxpyA], &x = *bottom[kAxpyX], &y = *bottom[kAxpyY];
  for (const Blob<Dtype>* blob : bottom)
    CHECK(top[0] != blob) << "Layer " << name << ": Axpy cannot run in place.";
  CHECK(x.shape() == y.shape()) << "Layer " << name << ": x and y must have one shape, not "
                                << x.shape_string() << " and " << y.shape_string() << ".";
  CHECK(x.num_axes() >= 2 && a.num_axes() >= 2 && a.shape(0) == x.shape(0) &&
        a.shape(1) == x.shape(1) && a.count(2) == 1)
      << "Layer " << name << ": a must have one value for each channel of each item of x; their "
      << "shapes are " << a.shape_string() << " and " << x.shape_string() << ".";
  top[0]->ReshapeLike(x);
}

template <typename Dtype>
MemoryTraits AxpyLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  const double values = bottom[kAxpyX]->count();
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.forward.reads = {BottomData(kAxpyA), BottomData(kAxpyX), BottomData(kAxpyY)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(kAxpyX)}, {TopData(0), BottomData(kAxpyY)}};
  traits.forward.flops = 2 * values;
  OperandVariant backward;
  backward.flops =
      (2.0 * propagate_down[kAxpyA] + propagate_down[kAxpyX] + propagate_down[kAxpyY]) * values;
  backward.reads = {TopDiff(0)};
  if (propagate_down[kAxpyA]) {
    backward.reads.push_back(BottomData(kAxpyX));
    backward.writes.push_back(BottomDiff(kAxpyA));
  }
  if (propagate_down[kAxpyX]) backward.reads.push_back(BottomData(kAxpyA));
  // The gradient of a is computed first, that of x last.
  for (const int i : {kAxpyX, kAxpyY}) {
    if (!propagate_down[i]) continue;
    backward.writes.push_back(BottomDiff(i));
    backward.may_alias.emplace_back(BottomDiff(i), TopDiff(0));
    if (propagate_down[kAxpyA]) backward.may_alias.emplace_back(BottomDiff(i), BottomData(kAxpyX));
  }
  if (!backward.writes.empty()) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void AxpyLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const Blob<Dtype>& x = *bottom[kAxpyX];
  kernels::AxpyRows(context, x.count(0, 2), x.count(2), Data(context, *bottom[kAxpyA]),
                    Data(context, x), Data(context, *bottom[kAxpyY]), MutableData(context, top[0]));
}

template <typename Dtype>
void AxpyLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  const int rows = bottom[kAxpyX]->count(0, 2), length = bottom[kAxpyX]->count(2);
  const Dtype* df = Diff(context, *top[0]);
  // x may share memory with one of the next two gradients.
  if (propagate_down[kAxpyA]) {
    kernels::ScaleBackward<Dtype>(context, 1, rows, length, df, Data(context, *bottom[kAxpyX]),
                                  nullptr, kernels::NewSum(MutableDiff(context, bottom[kAxpyA])),
                                  {}, nullptr);
  }
  if (propagate_down[kAxpyY])
    kernels::Copy(context, top[0]->count(), df, MutableDiff(context, bottom[kAxpyY]));
  if (propagate_down[kAxpyX]) {
    kernels::ScaleBackward<Dtype>(context, 1, rows, length, df, nullptr,
                                  Data(context, *bottom[kAxpyA]), {}, {},
                                  MutableDiff(context, bottom[kAxpyX]));
  }
}

static LayerRule AxpyRule(const LayerShapes& shapes) {
  return Axes({ItemAxis(shapes), AxisOf("channel", shapes, 1)});
}

INSTANTIATE_CLASS(AxpyLayer);
REGISTER_FORK_LAYER_CLASS(Axpy);
REGISTER_LAYER_AXES(Axpy, AxpyRule);

}  // namespace caffe
