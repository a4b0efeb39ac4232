#ifndef CAFFE_INFOGAIN_LOSS_LAYER_HPP_
#define CAFFE_INFOGAIN_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

namespace kernels {
struct LabelCounts;
struct Normalizer;
}  // namespace kernels

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
class InfogainLossLayer : public LossLayer<Dtype> {
 public:
  explicit InfogainLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "InfogainLoss"; }
  int ExactNumBottomBlobs() const override { return -1; }
  int MinBottomBlobs() const override { return 2; }
  int MaxBottomBlobs() const override { return 3; }
  int ExactNumTopBlobs() const override { return -1; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index == 0; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  /// What the loss is divided by; `valid_count`: positions that are not ignored, -1: all.
  virtual Dtype get_normalizer(LossParameter_NormalizationMode normalization_mode, int valid_count);
  /// Puts the sum of each row of H into sum_rows_H_.
  virtual void sum_rows_of_H(const Blob<Dtype>* H);

  Blob<Dtype> infogain_;  ///< H if it comes from a file
  bool has_ignore_label_;
  int ignore_label_;
  LossParameter_NormalizationMode normalization_;
  int infogain_axis_, outer_num_, inner_num_;
  int num_labels_;  ///< the number of classes

  // For derived classes alone; empty in a layer of this class.
  shared_ptr<Layer<Dtype>> softmax_layer_;  ///< from softmax_bottom_vec_ to prob_
  Blob<Dtype> prob_;                        ///< of the shape of bottom 0
  Blob<Dtype> sum_rows_H_;
  vector<Blob<Dtype>*> softmax_bottom_vec_, softmax_top_vec_;

 private:
  const Blob<Dtype>& Gain(const vector<Blob<Dtype>*>& bottom) const {
    return bottom.size() > 2 ? *bottom[2] : infogain_;
  }
  kernels::Normalizer NormalizerOf(const DeviceContext& context,
                                   const kernels::LabelCounts* counts);
};

}  // namespace caffe

#endif  // CAFFE_INFOGAIN_LOSS_LAYER_HPP_
