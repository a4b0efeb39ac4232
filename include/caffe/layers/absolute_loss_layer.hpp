#ifndef CAFFE_ABSOLUTE_LOSS_LAYER_HPP_
#define CAFFE_ABSOLUTE_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// A loss of absolute differences: bottoms a and b of one size and, for subclasses that take them,
/// weights of that size inside and outside of the function; N, the extent of axis 0, divides it. a
/// and b may take gradients; that of weights is 0, whatever they come from.
template <typename Dtype>
class AbsoluteLossLayer : public LossLayer<Dtype> {
 public:
  explicit AbsoluteLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index < 2; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  /// Differences smaller than this are squared (and divided by two of it).
  virtual Dtype Bend() const = 0;
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_ABSOLUTE_LOSS_LAYER_HPP_
