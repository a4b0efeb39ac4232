#ifndef CAFFE_ABSOLUTE_LOSS_LAYER_HPP_
#define CAFFE_ABSOLUTE_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Base of losses that sum absolute differences and divide by N, the extent of axis 0. Bottoms: a
/// and b, of one size; a subclass may also take two weight blobs of that size, which multiply the
/// difference before and the loss after the function. a and b may take gradients. The weights get
/// none.
template <typename Dtype>
class AbsoluteLossLayer : public LossLayer<Dtype> {
 public:
  explicit AbsoluteLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index < 2; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  /// The loss of a difference d is d^2 / (2 * QuadraticRange()) if |d| < QuadraticRange(), and
  /// linear in |d| beyond that.
  virtual Dtype QuadraticRange() const = 0;
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_ABSOLUTE_LOSS_LAYER_HPP_
