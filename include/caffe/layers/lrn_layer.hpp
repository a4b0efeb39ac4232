#ifndef CAFFE_LRN_LAYER_HPP_
#define CAFFE_LRN_LAYER_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

namespace kernels {
struct LrnGrid;
template <typename Dtype>
struct LrnFunction;
}  // namespace kernels

/// Local response normalisation: y = x * s ^ -beta. With ACROSS_CHANNELS, s = k + alpha /
/// local_size * (the sum of x ^ 2 over local_size channels around this one). With WITHIN_CHANNEL, s
/// = 1 + alpha / local_size ^ 2 * (the sum of x ^ 2 over a square of that side); k is ignored, as
/// in Caffe. Values beyond the borders count as 0. May run in place. A. Krizhevsky et al., ImageNet
/// Classification with Deep Convolutional Neural Networks, 2012, section 3.3.
///
/// Backward variants: "x" and, for use in place, "saved" (a copy of x). Both recompute s, a few
/// rows at a time: a saved s would take as many bytes as x and save little time.
template <typename Dtype>
class LRNLayer : public Layer<Dtype> {
 public:
  explicit LRNLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "LRN"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  int size_ = 0;
  int pre_pad_ = 0;
  Dtype alpha_ = 0;
  Dtype beta_ = 0;
  Dtype k_ = 0;
  int num_ = 0;
  int channels_ = 0;
  int height_ = 0;
  int width_ = 0;

 private:
  bool WithinChannel() const;
  kernels::LrnGrid Grid(const Blob<Dtype>& bottom) const;
  kernels::LrnFunction<Dtype> Function() const;
};

}  // namespace caffe

#endif  // CAFFE_LRN_LAYER_HPP_
