#ifndef CAFFE_SPP_LAYER_HPP_
#define CAFFE_SPP_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct PoolingWindow;
}

/// Spatial pyramid pooling: level i of pyramid_height pools each channel's plane, whatever its
/// size, into 2^i x 2^i values, by maximum (MAX) or mean (AVE). The top is N x (C (1 + 4 + 16 +
/// ...)): all values of an image level by level, and channel by channel within a level. K. He et
/// al., Spatial Pyramid Pooling in Deep Convolutional Networks, 2014, section 2.2.
template <typename Dtype>
class SPPLayer : public Layer<Dtype> {
 public:
  explicit SPPLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "SPP"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  int pyramid_height_ = 0;

 private:
  /// How level `level` pools the planes of `bottom`.
  kernels::PoolingWindow Window(const Blob<Dtype>& bottom, int level) const;
  bool max_pooling() const;
};

}  // namespace caffe

#endif  // CAFFE_SPP_LAYER_HPP_
