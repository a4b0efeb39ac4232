#ifndef CAFFE_RELU6_LAYER_HPP_
#define CAFFE_RELU6_LAYER_HPP_

#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// y = min(max(x, 0), 6), the activation of MobileNets (Krizhevsky 2010, Convolutional deep belief
/// networks on CIFAR-10); the gradient passes where 0 < x < 6. May run in place.
///
/// Backward variants: "y", "x" and "mask" (one bit per value).
template <typename Dtype>
class ReLU6Layer : public NeuronLayer<Dtype> {
 public:
  explicit ReLU6Layer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  const char* type() const override { return "ReLU6"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_RELU6_LAYER_HPP_
