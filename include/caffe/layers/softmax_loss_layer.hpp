#ifndef CAFFE_SOFTMAX_LOSS_LAYER_HPP_
#define CAFFE_SOFTMAX_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/softmax_scores_loss_layer.hpp"

namespace caffe {

/// The mean of -log(softmax(x)[label]) over the positions that are not ignored, or as
/// loss_param.normalization says. The optional second top is the softmax. With
/// loss_param.weight_by_label_freqs the loss of a position is multiplied by class_weighting[label];
/// the divisor does not change.
///
/// Backward variants: "prob" (the saved softmax, or the second top if there is one), "x"
/// (recomputes the softmax).
///
/// After forward, a derived class finds the softmax in `prob_`; one that overrides the forward must
/// write it there. It may override get_normalizer, which gives the divisor of the loss.
template <typename Dtype>
class SoftmaxWithLossLayer : public SoftmaxScoresLossLayer<Dtype> {
 public:
  explicit SoftmaxWithLossLayer(const LayerParameter& param)
      : SoftmaxScoresLossLayer<Dtype>(param, typeid(SoftmaxWithLossLayer)) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SoftmaxWithLoss"; }

 protected:
  /// For SoftmaxLossesLayer: see SoftmaxScoresLossLayer.
  SoftmaxWithLossLayer(const LayerParameter& param, const std::type_info& registered, bool each)
      : SoftmaxScoresLossLayer<Dtype>(param, registered, each) {}

  int softmax_axis_;

 private:
  ClassAxis AxisOfClasses() override {
    return {this->layer_param_.softmax_param().axis(), &softmax_axis_, "the softmax along axis"};
  }
  void Losses(const LabelledScores<Dtype>& scores, Dtype* losses) override;
  void Gradient(const LabelledScores<Dtype>& scores, const kernels::LossScale<Dtype>& scale,
                Dtype* dx) override;
  bool Weighs() const { return this->layer_param_.loss_param().weight_by_label_freqs(); }

  Blob<Dtype> class_weights_;  ///< with weight_by_label_freqs
};

}  // namespace caffe

#endif  // CAFFE_SOFTMAX_LOSS_LAYER_HPP_
