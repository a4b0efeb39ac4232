#ifndef CAFFE_SILENCE_LAYER_HPP_
#define CAFFE_SILENCE_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Consumes blobs that no other layer reads, so that they are not outputs of the net. Its gradients
/// are zero.
template <typename Dtype>
class SilenceLayer : public Layer<Dtype> {
 public:
  explicit SilenceLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& /*bottom*/,
               const vector<Blob<Dtype>*>& /*top*/) override {}
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "Silence"; }
  int MinBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 0; }

 protected:
  void ForwardOn(const DeviceContext& /*context*/, const vector<Blob<Dtype>*>& /*bottom*/,
                 const vector<Blob<Dtype>*>& /*top*/) override {}
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;
};

}  // namespace caffe

#endif  // CAFFE_SILENCE_LAYER_HPP_
