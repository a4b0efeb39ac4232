#include "caffe/layers/accuracy_layer.hpp"

#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/loss/accuracy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "label_check.hpp"

namespace caffe {

namespace {

/// Bytes of LabelCounts, then one double per class for the accuracy of each, then one byte per
/// position.
int64_t CountBytes(const kernels::ScoreShape& shape, bool of_each_class) {
  return int64_t{sizeof(kernels::LabelCounts)} +
         (of_each_class ? shape.classes * int64_t{sizeof(double)} : 0) + shape.positions();
}

}  // namespace

template <typename Dtype>
void AccuracyLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                      const vector<Blob<Dtype>*>& /*top*/) {
  top_k_ = static_cast<int>(this->layer_param_.accuracy_param().top_k());
  CHECK_GE(top_k_, 1) << "Layer " << this->layer_param_.name() << ": top_k must be at least 1.";
  has_ignore_label_ = this->layer_param_.accuracy_param().has_ignore_label();
  ignore_label_ = this->layer_param_.accuracy_param().ignore_label();
}

template <typename Dtype>
void AccuracyLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  label_axis_ = bottom[0]->CanonicalAxisIndex(this->layer_param_.accuracy_param().axis());
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], label_axis_);
  CHECK_LE(top_k_, shape.classes) << "Layer " << name
                                  << ": top_k must be less than or equal to the number of classes.";
  CHECK_EQ(shape.positions(), bottom[1]->count())
      << "Layer " << name << ": number of labels must match number of predictions; with label axis "
      << label_axis_ << ", predictions of shape " << bottom[0]->shape_string() << " need "
      << shape.positions() << " labels, not " << bottom[1]->count() << ".";
  outer_num_ = static_cast<int>(shape.outer);
  inner_num_ = static_cast<int>(shape.inner);
  top[0]->Reshape(vector<int>());
  if (top.size() == 1) return;
  top[1]->Reshape({bottom[0]->shape(label_axis_)});
  if (IsDerived(*this)) nums_buffer_.ReshapeLike(*top[1]);
}

template <typename Dtype>
MemoryTraits AccuracyLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down) const {
  if (IsDerived(*this)) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  MemoryTraits traits;
  traits.declared = true;
  traits.forward.reads = {BottomData(0), BottomData(1)};
  traits.forward.writes = {TopData(0)};
  if (top.size() > 1) traits.forward.writes.push_back(TopData(1));
  traits.forward.workspace_bytes =
      CountBytes(kernels::ScoresAlong(*bottom[0], label_axis_), top.size() > 1);
  return traits;
}

template <typename Dtype>
void AccuracyLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                     const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const kernels::ScoreShape shape = kernels::ScoresAlong(*bottom[0], label_axis_);
  const kernels::Labels<Dtype> labels{Data(context, *bottom[1]), has_ignore_label_, ignore_label_};
  auto* counts = IsDerived(*this) ? OwnWorkspace<kernels::LabelCounts>(
                                        context, CountBytes(shape, top.size() > 1), &own_workspace_)
                                  : this->template WorkspaceBytes<kernels::LabelCounts>();
  double* found = reinterpret_cast<double*>(counts + 1);
  uint8_t* hits = reinterpret_cast<uint8_t*>(found + (top.size() > 1 ? shape.classes : 0));
  kernels::CountLabels(context, shape, labels, counts);
  CheckLabels(context, shape, counts, this->layer_param_, this->reads());
  kernels::TopKHits(context, shape, top_k_, Data(context, *bottom[0]), labels, hits);
  kernels::MeanAccuracy(context, shape, hits, counts, MutableData(context, top[0]));
  if (top.size() > 1) {
    kernels::ClassAccuracy(context, shape, hits, labels, found,
                           IsDerived(*this) ? MutableData(context, &nums_buffer_) : nullptr,
                           MutableData(context, top[1]));
  }
}

template <typename Dtype>
void AccuracyLayer<Dtype>::BackwardOn(const DeviceContext& /*context*/,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& /*bottom*/) {
  CHECK(!propagate_down[0] && !propagate_down[1])
      << "Layer " << this->layer_param_.name() << ": Accuracy has no gradient.";
}

INSTANTIATE_CLASS(AccuracyLayer);
REGISTER_LAYER_CLASS(Accuracy);
REGISTER_NO_LAYER_AXES(Accuracy, "it counts over the whole batch");

}  // namespace caffe
