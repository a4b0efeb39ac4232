#ifndef CAFFE_PRELU_LAYER_HPP_
#define CAFFE_PRELU_LAYER_HPP_

#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

namespace kernels {
struct PReluShape;
}

/// y = x where x > 0, slope * x elsewhere. The slope is a parameter: one per channel (axis 1 of at
/// least two) or, with channel_shared, one for all; 0.25 if no filler is given. May run in place.
/// K. He, X. Zhang, S. Ren, J. Sun, Delving deep into rectifiers, 2015.
///
/// Backward variants: "x" and, for use in place, "saved" (a copy of x). y does not suffice: the
/// slope may become negative, so the sign of y does not determine that of x.
template <typename Dtype>
class PReLULayer : public NeuronLayer<Dtype> {
 public:
  explicit PReLULayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "PReLU"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  bool channel_shared_ = false;

 private:
  kernels::PReluShape Shape(const Blob<Dtype>& bottom) const;
};

}  // namespace caffe

#endif  // CAFFE_PRELU_LAYER_HPP_
