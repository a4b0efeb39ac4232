#ifndef CAFFE_POWER_LAYER_HPP_
#define CAFFE_POWER_LAYER_HPP_

#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

namespace kernels {
template <typename Dtype>
struct PowerFunction;
}

/// y = (shift + scale * x) ^ power. May run in place.
///
/// Backward variants: "constant" where the derivative is (power 1 or 0, scale 0); otherwise "y"
/// (only for powers such as 0.5, -0.5 and -1, whose derivative is an integer power of y), "x",
/// "saved" (a copy of x).
template <typename Dtype>
class PowerLayer : public NeuronLayer<Dtype> {
 public:
  explicit PowerLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Power"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  Dtype power_ = 1;
  Dtype scale_ = 1;
  Dtype shift_ = 0;

 private:
  kernels::PowerFunction<Dtype> Function() const;
};

}  // namespace caffe

#endif  // CAFFE_POWER_LAYER_HPP_
