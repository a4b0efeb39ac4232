#ifndef CAFFE_LOG_LAYER_HPP_
#define CAFFE_LOG_LAYER_HPP_

#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

namespace kernels {
template <typename Dtype>
struct LogFunction;
}

/// y = log(shift + scale * x) to the base `base`; base -1 stands for e. May run in place.
///
/// Backward variants: "x" and, for use in place, "saved" (a copy of x). Computing the derivative
/// from y would take an exponential and lose digits.
template <typename Dtype>
class LogLayer : public NeuronLayer<Dtype> {
 public:
  explicit LogLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Log"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  // y = base_scale_ * log(input_shift_ + input_scale_ * x)
  Dtype base_scale_ = 1;
  Dtype input_scale_ = 1;
  Dtype input_shift_ = 0;

 private:
  kernels::LogFunction<Dtype> Function() const;
};

}  // namespace caffe

#endif  // CAFFE_LOG_LAYER_HPP_
