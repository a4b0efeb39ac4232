#include "caffe/layers/filter_layer.hpp"

#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {
namespace {

/// Whether the values of `blob` can be read. They cannot if it has none yet, or if its memory is
/// planned and no operation that reads them is running.
template <typename Dtype>
bool HasValues(const Blob<Dtype>& blob) {
  const SyncedMemory& memory = *blob.data();
  if (const Binding* binding = memory.binding()) return binding->readable != nullptr;
  return memory.head() != SyncedMemory::UNINITIALIZED;
}

}  // namespace

template <typename Dtype>
void FilterLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  CHECK_EQ(top.size() + 1, bottom.size())
      << "Layer " << this->layer_param_.name()
      << ": Filter has a top for each bottom but the last, the selector.";
  need_first_reshape_ = true;
  chosen_ = false;
}

template <typename Dtype>
void FilterLayer<Dtype>::Choose(const Blob<Dtype>& selector) {
  const Dtype* values = selector.cpu_data();
  indices_to_forward_.clear();
  for (int i = 0; i < selector.shape(0); ++i) {
    if (values[i] != 0) indices_to_forward_.push_back(i);
  }
  chosen_ = true;
}

template <typename Dtype>
void FilterLayer<Dtype>::ReshapeTops(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) const {
  for (size_t i = 0; i < top.size(); ++i) {
    vector<int> shape = bottom[i]->shape();
    if (chosen_) shape[0] = static_cast<int>(indices_to_forward_.size());
    top[i]->Reshape(shape);
  }
}

template <typename Dtype>
void FilterLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  const Blob<Dtype>& selector = *bottom.back();
  CHECK(selector.num_axes() > 0 && selector.count() == selector.shape(0))
      << "Layer " << name << ": the selector must have one value for each item, not shape "
      << selector.shape_string() << ".";
  for (size_t i = 0; i < top.size(); ++i) {
    CHECK(bottom[i]->num_axes() > 0 && bottom[i]->shape(0) == selector.shape(0))
        << "Layer " << name << ": bottom " << i << ", shape " << bottom[i]->shape_string()
        << ", must have as many items as the selector, shape " << selector.shape_string() << ".";
    CHECK(top[i] != bottom[i]) << "Layer " << name << ": Filter cannot run in place.";
  }
  if (!need_first_reshape_ && HasValues(selector)) Choose(selector);
  need_first_reshape_ = false;
  ReshapeTops(bottom, top);
}

template <typename Dtype>
MemoryTraits FilterLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.varying = true;
  OperandVariant backward;
  for (size_t i = 0; i < top.size(); ++i) {
    traits.forward.reads.push_back(BottomData(i));
    traits.forward.writes.push_back(TopData(i));
    if (!propagate_down[i]) continue;
    backward.reads.push_back(TopDiff(i));
    backward.writes.push_back(BottomDiff(i));
  }
  traits.forward.reads.push_back(BottomData(bottom.size() - 1));
  if (!backward.writes.empty()) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void FilterLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  Choose(*bottom.back());
  ReshapeTops(bottom, top);
  if (indices_to_forward_.empty()) return;
  for (size_t i = 0; i < top.size(); ++i) {
    const int width = bottom[i]->count(1);
    const Dtype* from = Data(context, *bottom[i]);
    Dtype* to = MutableData(context, top[i]);
    for (int item : indices_to_forward_) {
      kernels::Copy(context, width, from + int64_t{item} * width, to);
      to += width;
    }
  }
}

template <typename Dtype>
void FilterLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  CHECK(!propagate_down[bottom.size() - 1])
      << "Layer " << this->layer_param_.name()
      << ": Layer cannot backpropagate to filter index inputs.";
  for (size_t i = 0; i < top.size(); ++i) {
    if (!propagate_down[i]) continue;
    const int width = bottom[i]->count(1);
    Dtype* to = MutableDiff(context, bottom[i]);
    kernels::Fill(context, bottom[i]->count(), Dtype(0), to);
    if (indices_to_forward_.empty()) continue;
    const Dtype* from = Diff(context, *top[i]);
    for (int item : indices_to_forward_) {
      kernels::Copy(context, width, from, to + int64_t{item} * width);
      from += width;
    }
  }
}

INSTANTIATE_CLASS(FilterLayer);
REGISTER_LAYER_CLASS(Filter);
REGISTER_NO_LAYER_AXES(Filter, "how many items it makes depends on values");

}  // namespace caffe
