#ifndef CAFFE_SOFTMAX_LOSS_LAYER_HPP_
#define CAFFE_SOFTMAX_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

namespace kernels {
struct LabelCounts;
struct Normalizer;
}  // namespace kernels

/// The mean of -log(softmax(x)[label]) over the positions that are not ignored, or as
/// loss_param.normalization says. The optional second top is the softmax.
///
/// Backward forms: "prob" (the saved softmax; the second top where there is one), "x" (the softmax
/// once more).
///
/// A class derived from this one finds the softmax of its forward in `prob_`, writes it there if it
/// overrides the forward, and may have get_normalizer say what the loss is divided by.
template <typename Dtype>
class SoftmaxWithLossLayer : public LossLayer<Dtype> {
 public:
  explicit SoftmaxWithLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline const char* type() const { return "SoftmaxWithLoss"; }
  virtual inline int ExactNumTopBlobs() const { return -1; }
  virtual inline int MinTopBlobs() const { return 1; }
  virtual inline int MaxTopBlobs() const { return 2; }
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                          const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom);

  /// What the loss is divided by; `valid_count`: positions that are not ignored, -1: all.
  virtual Dtype get_normalizer(LossParameter_NormalizationMode normalization_mode, int valid_count);

  bool has_ignore_label_;
  int ignore_label_;
  LossParameter_NormalizationMode normalization_;
  int softmax_axis_, outer_num_, inner_num_;

  // For derived classes alone; empty in a layer of this class.
  shared_ptr<Layer<Dtype>> softmax_layer_;  ///< from softmax_bottom_vec_ to prob_
  Blob<Dtype> prob_;                        ///< of the shape of bottom 0
  vector<Blob<Dtype>*> softmax_bottom_vec_, softmax_top_vec_;

 private:
  kernels::Normalizer NormalizerOf(const DeviceContext& context,
                                   const kernels::LabelCounts* counts);
};

}  // namespace caffe

#endif  // CAFFE_SOFTMAX_LOSS_LAYER_HPP_
