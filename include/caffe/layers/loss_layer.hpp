#ifndef CAFFE_LOSS_LAYER_HPP_
#define CAFFE_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

const float kLOG_THRESHOLD = 1e-20;

/// Base of layers that compare predictions (bottom 0) with targets (bottom 1) and compute one
/// number. Unless the prototxt gives loss weights, that of the first top is 1, and that of further
/// tops 0.
template <typename Dtype>
class LossLayer : public Layer<Dtype> {
 public:
  explicit LossLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline int ExactNumBottomBlobs() const { return 2; }
  virtual inline bool AutoTopBlobs() const { return true; }
  virtual inline int ExactNumTopBlobs() const { return 1; }
  /// Targets get no gradient, even with force_backward.
  virtual inline bool AllowForceBackward(const int bottom_index) const { return bottom_index != 1; }

 protected:
  /// Aborts if the gradient of the targets is wanted.
  void CheckNoTargetGradient(const vector<bool>& propagate_down) const;

  /// The workspace of a loss layer's forward and backward in a derived class; else empty.
  shared_ptr<SyncedMemory> own_workspace_;
};

}  // namespace caffe

#endif  // CAFFE_LOSS_LAYER_HPP_
