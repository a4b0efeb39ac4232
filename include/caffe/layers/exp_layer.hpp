#ifndef CAFFE_EXP_LAYER_HPP_
#define CAFFE_EXP_LAYER_HPP_

#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

namespace kernels {
template <typename Dtype>
struct ExpFunction;
}

/// y = base ^ (shift + scale * x); base -1 stands for e. May run in place.
///
/// Backward variants: "y", "x", "saved" (a copy of y).
template <typename Dtype>
class ExpLayer : public NeuronLayer<Dtype> {
 public:
  explicit ExpLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Exp"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  // y = outer_scale_ * exp(inner_scale_ * x)
  Dtype inner_scale_ = 1;
  Dtype outer_scale_ = 1;

 private:
  kernels::ExpFunction<Dtype> Function() const;
};

}  // namespace caffe

#endif  // CAFFE_EXP_LAYER_HPP_
