#ifndef CAFFE_INFOGAIN_LOSS_LAYER_HPP_
#define CAFFE_INFOGAIN_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/softmax_scores_loss_layer.hpp"

namespace caffe {

/// -(sum over classes c of H[label][c] * log(softmax of the scores at c)), probabilities below
/// kLOG_THRESHOLD counting as that; the mean over the positions that are not ignored, or as
/// loss_param.normalization says. Bottoms: scores, labels, and the classes x classes matrix H,
/// unless infogain_loss_param.source names a file (a binary BlobProto) that has it. That matrix
/// lies in memory of the layer's own. The optional second top is the softmax.
///
/// Backward forms: "prob" (the saved softmax; the second top where there is one), "x" (the softmax
/// once more).
///
/// A class derived from this one finds the softmax of its forward in `prob_`, writes it there if it
/// overrides the forward, and may have get_normalizer say what the loss is divided by.
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
  /// For derived classes alone; empty in a layer of this class.
  Blob<Dtype> sum_rows_H_;

 private:
  const Blob<Dtype>& Gain(const vector<Blob<Dtype>*>& bottom) const {
    return bottom.size() > 2 ? *bottom[2] : infogain_;
  }
  ClassAxis AxisOfClasses() override {
    return {this->layer_param_.infogain_loss_param().axis(), &infogain_axis_, "axis"};
  }
  void Losses(const LabelledScores<Dtype>& scores, Dtype* losses) override;
  void Gradient(const LabelledScores<Dtype>& scores, const kernels::Normalizer& normalizer,
                const Dtype* weight, Dtype* dx) override;
};

}  // namespace caffe

#endif  // CAFFE_INFOGAIN_LOSS_LAYER_HPP_
