#include "caffe/kernels/lstm.hpp"
#include "caffe/layers/lstm_layer.hpp"
#include "derived.hpp"

namespace caffe {
namespace {

enum Bottom { kCellsBefore, kGates, kCont };
enum Top { kCells, kHidden };

}  // namespace

template <typename Dtype>
void LSTMUnitLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const vector<int>& cells = bottom[kCellsBefore]->shape();
  CHECK(cells.size() == 3 && cells[0] == 1)
      << "Layer " << this->layer_param_.name() << ": bottom 0, the cells, must be 1 x N x D, not "
      << bottom[kCellsBefore]->shape_string() << ".";
  hidden_dim_ = cells[2];
  CHECK(bottom[kGates]->num_axes() == 3 && bottom[kGates]->shape(0) == 1 &&
        bottom[kGates]->shape(1) == cells[1] && bottom[kGates]->shape(2) / 4 == hidden_dim_ &&
        bottom[kGates]->shape(2) % 4 == 0)
      << "Layer " << this->layer_param_.name() << ": bottom 1, the gates, must be 1 x " << cells[1]
      << " x 4 * " << hidden_dim_ << " like bottom 0, shape "
      << bottom[kCellsBefore]->shape_string() << ", not " << bottom[kGates]->shape_string() << ".";
  CHECK(bottom[kCont]->shape() == (vector<int>{1, cells[1]}))
      << "Layer " << this->layer_param_.name()
      << ": bottom 2, the continuation indicators, must be "
      << "1 x " << cells[1] << ", not " << bottom[kCont]->shape_string() << ".";
  for (Blob<Dtype>* blob : top) blob->ReshapeLike(*bottom[kCellsBefore]);
}

template <typename Dtype>
MemoryTraits LSTMUnitLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& /*top*/,
                                          const vector<bool>& propagate_down) const {
  const double flops = 30.0 * bottom[kCellsBefore]->count();  // five exponentials among them
  MemoryTraits traits;
  traits.declared = true;
  traits.capturable = !IsDerived(*this);
  traits.forward.name = "step";
  traits.forward.reads = {BottomData(kCellsBefore), BottomData(kGates), BottomData(kCont)};
  traits.forward.writes = {TopData(kCells), TopData(kHidden)};
  traits.forward.may_alias = {{TopData(kCells), BottomData(kCellsBefore)},
                              {TopData(kHidden), BottomData(kCellsBefore)}};
  traits.forward.flops = flops;
  if (!propagate_down[kCellsBefore] && !propagate_down[kGates]) return traits;
  OperandForm backward;
  backward.name = "gates";
  backward.reads = {BottomData(kGates), BottomData(kCont), TopData(kCells), TopDiff(kCells),
                    TopDiff(kHidden)};
  backward.flops = 1.5 * flops;
  vector<Operand> reusable = {TopDiff(kCells), TopDiff(kHidden), TopData(kCells)};
  if (propagate_down[kGates]) {
    backward.reads.push_back(BottomData(kCellsBefore));
    reusable.push_back(BottomData(kCellsBefore));
    backward.writes.push_back(BottomDiff(kGates));
    backward.may_alias.emplace_back(BottomDiff(kGates), BottomData(kGates));
  }
  if (propagate_down[kCellsBefore]) {
    backward.writes.push_back(BottomDiff(kCellsBefore));
    for (const Operand& input : reusable)
      backward.may_alias.emplace_back(BottomDiff(kCellsBefore), input);
  }
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void LSTMUnitLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                     const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  kernels::LstmForward(context, bottom[kCellsBefore]->shape(1), hidden_dim_,
                       Data(context, *bottom[kCellsBefore]), Data(context, *bottom[kGates]),
                       Data(context, *bottom[kCont]), MutableData(context, top[kCells]),
                       MutableData(context, top[kHidden]));
}

template <typename Dtype>
void LSTMUnitLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  CHECK(!propagate_down[kCont]) << "Layer " << this->layer_param_.name()
                                << ": Cannot backpropagate to sequence indicators.";
  const bool cells = propagate_down[kCellsBefore], gates = propagate_down[kGates];
  if (!cells && !gates) return;
  kernels::LstmBackward<Dtype>(
      context, bottom[kCellsBefore]->shape(1), hidden_dim_,
      gates ? Data(context, *bottom[kCellsBefore]) : nullptr, Data(context, *bottom[kGates]),
      Data(context, *bottom[kCont]), Data(context, *top[kCells]), Diff(context, *top[kCells]),
      Diff(context, *top[kHidden]), cells ? MutableDiff(context, bottom[kCellsBefore]) : nullptr,
      gates ? MutableDiff(context, bottom[kGates]) : nullptr);
}

INSTANTIATE_CLASS(LSTMUnitLayer);
REGISTER_LAYER_CLASS(LSTMUnit);

}  // namespace caffe
