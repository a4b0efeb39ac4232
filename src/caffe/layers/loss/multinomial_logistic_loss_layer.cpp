#include "caffe/layers/multinomial_logistic_loss_layer.hpp"

#include <algorithm>

#include "caffe/kernels/loss/loss_sum.hpp"
#include "caffe/kernels/loss/multinomial_logistic_loss.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "label_check.hpp"
#include "sample_loss.hpp"

namespace caffe {

template <typename Dtype>
void MultinomialLogisticLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  CheckOneLabelEach(this->layer_param_.name(), *bottom[0], *bottom[1]);
}

template <typename Dtype>
MemoryTraits MultinomialLogisticLossLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                                         const vector<Blob<Dtype>*>& top,
                                                         const vector<bool>& propagate_down) const {
  if (IsDerived(*this)) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  return SampleLossTraits(*bottom[0], "prob", propagate_down[0]);
}

template <typename Dtype>
void MultinomialLogisticLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                                    const vector<Blob<Dtype>*>& bottom,
                                                    const vector<Blob<Dtype>*>& top) {
  const kernels::ScoreShape shape = ScoresOfSamples(*bottom[0]);
  const kernels::Labels<Dtype> labels{Data(context, *bottom[1]), false, 0};
  auto* counts = IsDerived(*this)
                     ? OwnWorkspace<kernels::LabelCounts>(context, SampleLossWorkspace(*bottom[0]),
                                                          &this->own_workspace_)
                     : this->template WorkspaceBytes<kernels::LabelCounts>();
  Dtype* losses = reinterpret_cast<Dtype*>(counts + 1);
  kernels::CountLabels(context, shape, labels, counts);
  kernels::LogisticLosses(context, shape, static_cast<Dtype>(kLOG_THRESHOLD),
                          Data(context, *bottom[0]), labels, losses);
  const double samples = static_cast<double>(std::max<int64_t>(shape.outer, 1));
  kernels::TotalLoss(context, shape.outer, losses, {samples, counts}, MutableData(context, top[0]));
  CheckLabels(context, shape, counts, this->layer_param_, this->reads());
}

template <typename Dtype>
void MultinomialLogisticLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                                     const vector<Blob<Dtype>*>& top,
                                                     const vector<bool>& propagate_down,
                                                     const vector<Blob<Dtype>*>& bottom) {
  this->CheckNoTargetGradient(propagate_down);
  if (!propagate_down[0]) return;
  kernels::LogisticLossBackward(context, ScoresOfSamples(*bottom[0]),
                                static_cast<Dtype>(kLOG_THRESHOLD), Data(context, *bottom[0]),
                                {Data(context, *bottom[1]), false, 0}, Diff(context, *top[0]),
                                MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(MultinomialLogisticLossLayer);
REGISTER_LAYER_CLASS(MultinomialLogisticLoss);
REGISTER_NO_LAYER_AXES(MultinomialLogisticLoss, "a loss is normalized over the whole batch");

}  // namespace caffe
