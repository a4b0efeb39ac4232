#include "caffe/layers/batch_reindex_layer.hpp"

#include "caffe/kernels/shape/copy.hpp"
#include "caffe/kernels/shape/rows.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "row_numbers.hpp"

namespace caffe {

template <typename Dtype>
void BatchReindexLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK_GE(bottom[0]->num_axes(), 1) << "Layer " << name << ": bottom 0 has no items.";
  CHECK_EQ(bottom[1]->num_axes(), 1)
      << "Layer " << name << ": bottom 1, the list of items, must have one axis, not shape "
      << bottom[1]->shape_string() << ".";
  vector<int> shape = bottom[0]->shape();
  shape[0] = bottom[1]->shape(0);
  top[0]->Reshape(shape);
}

template <typename Dtype>
MemoryTraits BatchReindexLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                              const vector<Blob<Dtype>*>& /*top*/,
                                              const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.forward.reads = {BottomData(0), BottomData(1)};
  traits.forward.writes = {TopData(0)};
  if (!propagate_down[0]) return traits;
  OperandVariant backward;
  backward.reads = {BottomData(1), TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void BatchReindexLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                         const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  if (top[0]->count() == 0) return;
  const int items = bottom[0]->shape(0);
  if (!context.gpu) CheckRowNumbers(this->layer_param_.name(), *bottom[1], items);
  kernels::GatherRows(context, top[0]->shape(0), bottom[0]->count(1), items,
                      Data(context, *bottom[1]), Data(context, *bottom[0]),
                      MutableData(context, top[0]));
}

template <typename Dtype>
void BatchReindexLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  CHECK(!propagate_down[1]) << "Layer " << this->layer_param_.name()
                            << ": Cannot backpropagate to the list of items.";
  if (!propagate_down[0]) return;
  Dtype* dx = MutableDiff(context, bottom[0]);
  kernels::Fill(context, bottom[0]->count(), Dtype(0), dx);
  if (top[0]->count() == 0) return;
  kernels::AddRows(context, top[0]->shape(0), bottom[0]->count(1), bottom[0]->shape(0),
                   Data(context, *bottom[1]), Diff(context, *top[0]), dx);
}

INSTANTIATE_CLASS(BatchReindexLayer);
REGISTER_LAYER_CLASS(BatchReindex);
REGISTER_NO_LAYER_AXES(BatchReindex, "any item may go to any place");

}  // namespace caffe
