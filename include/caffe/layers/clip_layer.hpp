#ifndef CAFFE_CLIP_LAYER_HPP_
#define CAFFE_CLIP_LAYER_HPP_

#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

/// y = max(min, min(x, max)). The gradient passes where min <= x <= max. May run in place.
///
/// Backward variants: "x" and, for use in place, "mask" (one bit per value). y does not suffice: a
/// y equal to a bound does not say whether x was beyond it.
template <typename Dtype>
class ClipLayer : public NeuronLayer<Dtype> {
 public:
  explicit ClipLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  const char* type() const override { return "Clip"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;
};

}  // namespace caffe

#endif  // CAFFE_CLIP_LAYER_HPP_
