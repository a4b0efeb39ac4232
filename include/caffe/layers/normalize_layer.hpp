#ifndef CAFFE_NORMALIZE_LAYER_HPP_
#define CAFFE_NORMALIZE_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct L2Shape;
}

inline namespace library_layers {

/// y = scale * x / sqrt(eps + sum of x^2) for N x C x ... values. The sum is over the channels at
/// each position or, with across_spatial, over all values of an item (ParseNet, Liu et al. 2015;
/// SSD). blobs_[0] is the learned scale: one value with channel_shared, else one per channel; 1 if
/// no filler is given. May run in place.
///
/// Backward variants: "x" and, for use in place, "saved" (a copy of x). Both read the saved inverse
/// norms.
template <typename Dtype>
class NormalizeLayer : public Layer<Dtype> {
 public:
  explicit NormalizeLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Normalize"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

 private:
  kernels::L2Shape Shape(const Blob<Dtype>& bottom) const;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_NORMALIZE_LAYER_HPP_
