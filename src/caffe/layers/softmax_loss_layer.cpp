#include "caffe/layers/softmax_loss_layer.hpp"

#include "caffe/kernels/softmax_loss.hpp"

namespace caffe {

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Losses(const LabelledScores<Dtype>& scores, Dtype* losses) {
  const auto& [context, shape, bottom, labels, prob] = scores;
  kernels::SoftmaxLosses(context, shape, Data(context, *bottom[0]), prob, labels, losses);
}

template <typename Dtype>
void SoftmaxWithLossLayer<Dtype>::Gradient(const LabelledScores<Dtype>& scores,
                                           const kernels::Normalizer& normalizer,
                                           const Dtype* weight, Dtype* dx) {
  const auto& [context, shape, bottom, labels, prob] = scores;
  kernels::SoftmaxLossBackward(context, shape, prob, labels, normalizer, weight, dx);
}

INSTANTIATE_CLASS(SoftmaxWithLossLayer);
REGISTER_LAYER_CLASS(SoftmaxWithLoss);

}  // namespace caffe
