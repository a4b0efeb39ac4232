#include "caffe/layers/softmax_loss_layer.hpp"

#include <algorithm>

#include "caffe/kernels/loss/softmax_loss.hpp"
#include "caffe/layer_axes.hpp"

namespace caffe {

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  SoftmaxScoresLossLayer<Dtype>::LayerSetUp(bottom, top);
  const LossParameter& param = this->layer_param_.loss_param();
  LOG_IF(WARNING, param.class_weighting_size() > 0 && !param.weight_by_label_freqs())
      << "Layer " << this->layer_param_.name()
      << ": class_weighting has no effect without weight_by_label_freqs: true.";
  if (!param.weight_by_label_freqs()) return;
  class_weights_.Reshape({param.class_weighting_size()});
  std::copy(param.class_weighting().begin(), param.class_weighting().end(),
            class_weights_.mutable_cpu_data());
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  SoftmaxScoresLossLayer<Dtype>::Reshape(bottom, top);
  if (!Weighs()) return;
  CHECK_EQ(class_weights_.count(), bottom[0]->shape(softmax_axis_))
      << "Layer " << this->layer_param_.name()
      << ": class_weighting must be given once for each of " << bottom[0]->shape(softmax_axis_)
      << " classes, not " << class_weights_.count() << " times.";
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Losses(const LabelledScores<Dtype>& scores, Dtype* losses) {
  const auto& [context, shape, bottom, labels, prob] = scores;
  kernels::SoftmaxLosses(context, shape, Data(context, *bottom[0]), prob, labels,
                         Weighs() ? Data(context, class_weights_) : nullptr, losses);
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Gradient(const LabelledScores<Dtype>& scores,
                                           const kernels::LossScale<Dtype>& scale, Dtype* dx) {
  const auto& [context, shape, bottom, labels, prob] = scores;
  kernels::SoftmaxLossBackward(context, shape, prob, labels, scale,
                               Weighs() ? Data(context, class_weights_) : nullptr, dx);
}

INSTANTIATE_CLASS(SoftmaxWithLossLayer);
REGISTER_LAYER_CLASS(SoftmaxWithLoss);
REGISTER_NO_LAYER_AXES(SoftmaxWithLoss, "a loss is normalized over the whole batch");

}  // namespace caffe
