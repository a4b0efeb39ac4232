#ifndef CAFFE_LOSS_LAYER_HPP_
#define CAFFE_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

const float kLOG_THRESHOLD = 1e-20;

/// A layer that compares predictions (bottom 0) with targets (bottom 1) and gives one number. Its
/// loss weight is 1, that of further tops 0, unless the prototxt says otherwise.
template <typename Dtype>
class LossLayer : public Layer<Dtype> {
 public:
  explicit LossLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline int ExactNumBottomBlobs() const { return 2; }
  virtual inline bool AutoTopBlobs() const { return true; }
  virtual inline int ExactNumTopBlobs() const { return 1; }
  /// Targets take no gradient, even if forced.
  virtual inline bool AllowForceBackward(const int bottom_index) const { return bottom_index != 1; }

 protected:
  /// Aborts when the gradient of the targets is asked for.
  void CheckNoTargetGradient(const vector<bool>& propagate_down) const;

  /// Workspace of a loss layer's bodies in a class that is derived from it; else empty.
  shared_ptr<SyncedMemory> own_scratch_;
};

}  // namespace caffe

#endif  // CAFFE_LOSS_LAYER_HPP_
