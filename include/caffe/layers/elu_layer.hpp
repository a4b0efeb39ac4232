#ifndef CAFFE_ELU_LAYER_HPP_
#define CAFFE_ELU_LAYER_HPP_

#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

/// y = x where x > 0, alpha * (exp(x) - 1) elsewhere. May run in place. D. Clevert, T. Unterthiner,
/// S. Hochreiter, Fast and accurate deep network learning by exponential linear units, 2015.
///
/// Backward variants: "y" (only for alpha >= 0, where its sign is that of x), "x", "saved" (a copy
/// of y or, for alpha < 0, of x).
template <typename Dtype>
class ELULayer : public NeuronLayer<Dtype> {
 public:
  explicit ELULayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  const char* type() const override { return "ELU"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

 private:
  Dtype Alpha() const;
};

}  // namespace caffe

#endif  // CAFFE_ELU_LAYER_HPP_
