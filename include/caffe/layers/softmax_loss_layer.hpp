#ifndef CAFFE_SOFTMAX_LOSS_LAYER_HPP_
#define CAFFE_SOFTMAX_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

/// The mean of -log(softmax(x)[label]) over the positions that are not ignored, or as
/// loss_param.normalization says. The optional second top is the softmax.
///
/// Backward forms: "prob" (the saved softmax; the second top where there is one), "x" (the softmax
/// once more).
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

  int softmax_axis_;
  LossParameter_NormalizationMode normalization_;

 private:
  /// What the loss is divided by; 0: the number of labels that are not ignored.
  double FixedNormalizer(const Blob<Dtype>& scores) const;
};

}  // namespace caffe

#endif  // CAFFE_SOFTMAX_LOSS_LAYER_HPP_
