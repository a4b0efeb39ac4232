#ifndef CAFFE_DROPOUT_LAYER_HPP_
#define CAFFE_DROPOUT_LAYER_HPP_

#include <cstdint>
#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

/// In training, sets each value to 0 with probability dropout_ratio and multiplies the others by 1
/// / (1 - dropout_ratio). Otherwise copies its input. May run in place. N. Srivastava et al.,
/// Dropout, 2014; that paper scales in testing, as does this layer with `scale_train: false`: in
/// training the kept values are unchanged, and in testing all are multiplied by 1 - dropout_ratio.
/// With `sample_weights_test: true`, values are dropped in testing as in training (A. Kendall et
/// al., Bayesian SegNet, 2015).
///
/// The mask is not stored: forward and backward derive it from a key, which each forward that drops
/// values draws from the random stream (Caffe::set_random_seed). A recomputed forward uses the mask
/// of the pass that it repeats. Backward reads neither x nor y.
template <typename Dtype>
class DropoutLayer : public NeuronLayer<Dtype> {
 public:
  explicit DropoutLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Dropout"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  Dtype threshold_ = 0;  ///< the probability of being dropped
  Dtype scale_ = 1;      ///< factor of the kept values

 private:
  const DropoutParameter& Param() const;
  bool Drops() const;
  /// y = x with the mask of the latest forward pass.
  void Apply(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y) const;

  uint64_t key_ = 0;  ///< of the latest forward pass
  int rank_ = 0;      ///< rank of the device, if the net is divided among several
};

}  // namespace caffe

#endif  // CAFFE_DROPOUT_LAYER_HPP_
