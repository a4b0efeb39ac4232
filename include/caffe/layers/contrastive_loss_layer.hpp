#ifndef CAFFE_CONTRASTIVE_LOSS_LAYER_HPP_
#define CAFFE_CONTRASTIVE_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

/// A loss that is small if similar vectors are close and others are far apart. Bottoms: N vectors,
/// N more to compare with them, and N labels (0: not similar). With d the distance of a pair, the
/// loss is half the mean of d^2 for similar pairs and max(margin - d, 0)^2 for others; with
/// `legacy_version`, max(margin - d^2, 0) for others. Both sets of vectors may take a gradient.
///
/// Backward variants: "bottoms" (recomputes differences and distances), "difference" (saved).
///
/// After forward, a derived class finds the differences in `diff_` and the squared distances in
/// `dist_sq_`. The backward uses whatever these hold when it starts.
template <typename Dtype>
class ContrastiveLossLayer : public LossLayer<Dtype> {
 public:
  explicit ContrastiveLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ContrastiveLoss"; }
  int ExactNumBottomBlobs() const override { return 3; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index != 2; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  // For derived classes; empty in a layer of this class.
  Blob<Dtype> diff_;
  Blob<Dtype> dist_sq_;
};

}  // namespace caffe

#endif  // CAFFE_CONTRASTIVE_LOSS_LAYER_HPP_
