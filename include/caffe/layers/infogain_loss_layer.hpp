#ifndef CAFFE_INFOGAIN_LOSS_LAYER_HPP_
#define CAFFE_INFOGAIN_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/softmax_scores_loss_layer.hpp"

namespace caffe {

/// The mean over positions of -(sum over classes c of H[label][c] * log(max(p[c],
/// kLOG_THRESHOLD))), where p is the softmax of the scores. The mean is over the positions that are
/// not ignored, or as loss_param.normalization says. Bottoms: the scores, the labels, and the
/// classes x classes matrix H. Without the third bottom, H is read from the file
/// infogain_loss_param.source (a binary BlobProto) into the layer's own memory. The optional second
/// top is the softmax.
///
/// Backward variants: "prob" (the saved softmax, or the second top if there is one), "x"
/// (recomputes the softmax).
///
/// After forward, a derived class finds the softmax in `prob_`; one that overrides the forward must
/// write it there. It may override get_normalizer, which gives the divisor of the loss.
template <typename Dtype>
class InfogainLossLayer : public SoftmaxScoresLossLayer<Dtype> {
 public:
  explicit InfogainLossLayer(const LayerParameter& param)
      : SoftmaxScoresLossLayer<Dtype>(param, typeid(InfogainLossLayer)) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "InfogainLoss"; }
  int ExactNumBottomBlobs() const override { return -1; }
  int MinBottomBlobs() const override { return 2; }
  int MaxBottomBlobs() const override { return 3; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index == 0; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  /// Puts the sum of each row of H into sum_rows_H_.
  virtual void sum_rows_of_H(const Blob<Dtype>* H);

  Blob<Dtype> infogain_;  ///< H if it comes from a file
  int infogain_axis_;
  int num_labels_;  ///< the number of classes
  /// Only for derived classes; empty in a layer of this class.
  Blob<Dtype> sum_rows_H_;

 private:
  const Blob<Dtype>& Gain(const vector<Blob<Dtype>*>& bottom) const {
    return bottom.size() > 2 ? *bottom[2] : infogain_;
  }
  ClassAxis AxisOfClasses() override {
    return {this->layer_param_.infogain_loss_param().axis(), &infogain_axis_, "axis"};
  }
  void Losses(const LabelledScores<Dtype>& scores, Dtype* losses) override;
  void Gradient(const LabelledScores<Dtype>& scores, const kernels::LossScale<Dtype>& scale,
                Dtype* dx) override;
};

}  // namespace caffe

#endif  // CAFFE_INFOGAIN_LOSS_LAYER_HPP_
