#include "caffe/kernels/recurrent/lstm.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/lstm_layer.hpp"

namespace caffe {
namespace {

enum LstmUnitBottom { kLstmUnitCellsBefore, kLstmUnitGates, kLstmUnitCont };
enum LstmUnitTop { kLstmUnitCells, kLstmUnitHidden };

}  // namespace

template <typename Dtype>
void LSTMUnitLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const vector<int>& cells = bottom[kLstmUnitCellsBefore]->shape();
  CHECK(cells.size() == 3 && cells[0] == 1)
      << "Layer " << this->layer_param_.name() << ": bottom 0, the cells, must be 1 x N x D, not "
      << bottom[kLstmUnitCellsBefore]->shape_string() << ".";
  hidden_dim_ = cells[2];
  CHECK(bottom[kLstmUnitGates]->num_axes() == 3 && bottom[kLstmUnitGates]->shape(0) == 1 &&
        bottom[kLstmUnitGates]->shape(1) == cells[1] &&
        bottom[kLstmUnitGates]->shape(2) / 4 == hidden_dim_ &&
        bottom[kLstmUnitGates]->shape(2) % 4 == 0)
      << "Layer " << this->layer_param_.name() << ": bottom 1, the gates, must be 1 x " << cells[1]
      << " x 4 * " << hidden_dim_ << " like bottom 0, shape "
      << bottom[kLstmUnitCellsBefore]->shape_string() << ", not "
      << bottom[kLstmUnitGates]->shape_string() << ".";
  CHECK(bottom[kLstmUnitCont]->shape() == (vector<int>{1, cells[1]}))
      << "Layer " << this->layer_param_.name()
      << ": bottom 2, the continuation indicators, must be "
      << "1 x " << cells[1] << ", not " << bottom[kLstmUnitCont]->shape_string() << ".";
  for (Blob<Dtype>* blob : top) blob->ReshapeLike(*bottom[kLstmUnitCellsBefore]);
}

template <typename Dtype>
MemoryTraits LSTMUnitLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& /*top*/,
                                          const vector<bool>& propagate_down) const {
  const double flops =
      30.0 * bottom[kLstmUnitCellsBefore]->count();  // five exponentials among them
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.forward.name = "step";
  traits.forward.reads = {BottomData(kLstmUnitCellsBefore), BottomData(kLstmUnitGates),
                          BottomData(kLstmUnitCont)};
  traits.forward.writes = {TopData(kLstmUnitCells), TopData(kLstmUnitHidden)};
  traits.forward.may_alias = {{TopData(kLstmUnitCells), BottomData(kLstmUnitCellsBefore)},
                              {TopData(kLstmUnitHidden), BottomData(kLstmUnitCellsBefore)}};
  traits.forward.flops = flops;
  if (!propagate_down[kLstmUnitCellsBefore] && !propagate_down[kLstmUnitGates]) return traits;
  OperandVariant backward;
  backward.name = "gates";
  backward.reads = {BottomData(kLstmUnitGates), BottomData(kLstmUnitCont), TopData(kLstmUnitCells),
                    TopDiff(kLstmUnitCells), TopDiff(kLstmUnitHidden)};
  backward.flops = 1.5 * flops;
  vector<Operand> reusable = {TopDiff(kLstmUnitCells), TopDiff(kLstmUnitHidden),
                              TopData(kLstmUnitCells)};
  if (propagate_down[kLstmUnitGates]) {
    backward.reads.push_back(BottomData(kLstmUnitCellsBefore));
    reusable.push_back(BottomData(kLstmUnitCellsBefore));
    backward.writes.push_back(BottomDiff(kLstmUnitGates));
    backward.may_alias.emplace_back(BottomDiff(kLstmUnitGates), BottomData(kLstmUnitGates));
  }
  if (propagate_down[kLstmUnitCellsBefore]) {
    backward.writes.push_back(BottomDiff(kLstmUnitCellsBefore));
    for (const Operand& input : reusable)
      backward.may_alias.emplace_back(BottomDiff(kLstmUnitCellsBefore), input);
  }
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void LSTMUnitLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                     const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  kernels::LstmForward(
      context, bottom[kLstmUnitCellsBefore]->shape(1), hidden_dim_,
      Data(context, *bottom[kLstmUnitCellsBefore]), Data(context, *bottom[kLstmUnitGates]),
      Data(context, *bottom[kLstmUnitCont]), MutableData(context, top[kLstmUnitCells]),
      MutableData(context, top[kLstmUnitHidden]));
}

template <typename Dtype>
void LSTMUnitLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  CHECK(!propagate_down[kLstmUnitCont])
      << "Layer " << this->layer_param_.name() << ": Cannot backpropagate to sequence indicators.";
  const bool cells = propagate_down[kLstmUnitCellsBefore], gates = propagate_down[kLstmUnitGates];
  if (!cells && !gates) return;
  kernels::LstmBackward<Dtype>(
      context, bottom[kLstmUnitCellsBefore]->shape(1), hidden_dim_,
      gates ? Data(context, *bottom[kLstmUnitCellsBefore]) : nullptr,
      Data(context, *bottom[kLstmUnitGates]), Data(context, *bottom[kLstmUnitCont]),
      Data(context, *top[kLstmUnitCells]), Diff(context, *top[kLstmUnitCells]),
      Diff(context, *top[kLstmUnitHidden]),
      cells ? MutableDiff(context, bottom[kLstmUnitCellsBefore]) : nullptr,
      gates ? MutableDiff(context, bottom[kLstmUnitGates]) : nullptr);
}

static LayerRule LSTMUnitRule(const LayerShapes& shapes) {
  return Axes({AxisOf("item", shapes, 1)});
}

INSTANTIATE_CLASS(LSTMUnitLayer);
REGISTER_LAYER_CLASS(LSTMUnit);
REGISTER_LAYER_AXES(LSTMUnit, LSTMUnitRule);

}  // namespace caffe
