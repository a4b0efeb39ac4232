#ifndef CAFFE_AXPY_LAYER_HPP_
#define CAFFE_AXPY_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Computes a * x + y (SENet, Hu et al. 2018). Bottoms: a, one value per channel of each item (N x
/// C or N x C x 1 x 1), and x and y of one shape (N x C x H x W). All take gradients. The top must
/// not have the name of a bottom.
template <typename Dtype>
class AxpyLayer : public Layer<Dtype> {
 public:
  explicit AxpyLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Axpy"; }
  int ExactNumBottomBlobs() const override { return 3; }
  int ExactNumTopBlobs() const override { return 1; }
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

#endif  // CAFFE_AXPY_LAYER_HPP_
