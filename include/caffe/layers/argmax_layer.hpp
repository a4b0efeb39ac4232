#ifndef CAFFE_ARGMAX_LAYER_HPP_
#define CAFFE_ARGMAX_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Computes the indices of the top_k highest values, highest first. Among equal values the higher
/// index comes first. Has no backward.
///
/// Without `axis`, takes the maxima over all values of each of the N samples. The top has shape N x
/// 1 x top_k, or, with out_max_val, N x 2 x top_k, the indices followed by the values. Axes of
/// length 1 are appended up to the bottom's number of axes. With `axis`, the top has the bottom's
/// shape, but top_k along that axis. It holds the indices or, with out_max_val, the values.
template <typename Dtype>
class ArgMaxLayer : public Layer<Dtype> {
 public:
  explicit ArgMaxLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ArgMax"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  bool out_max_val_;
  size_t top_k_;
  bool has_axis_;
  int axis_;  ///< if has_axis_
};

}  // namespace caffe

#endif  // CAFFE_ARGMAX_LAYER_HPP_
