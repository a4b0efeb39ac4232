#ifndef CAFFE_SCALE_LAYER_HPP_
#define CAFFE_SCALE_LAYER_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Multiplies the first bottom by a scale and, with bias_term, adds a bias of the same shape. That
/// shape is that of some consecutive axes of the bottom, starting at `axis`; both are repeated
/// along the others. The scale is the second bottom or, without one, a parameter, followed by the
/// bias.
///
/// Backward variants: "x" and, for use in place, "saved_x".
template <typename Dtype>
class ScaleLayer : public Layer<Dtype> {
 public:
  explicit ScaleLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "Scale"; }
  int MinBottomBlobs() const override { return 1; }
  int MaxBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }
  /// Whether it has learned a scale for each channel (axis 1) of `bottom`, and a bias if blobs()
  /// has more than one blob.
  bool ScalesChannels(const Blob<Dtype>& bottom) const;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  bool bias_term_ = false;
  int bias_param_id_ = 0;
  int outer_dim_ = 0, scale_dim_ = 0, inner_dim_ = 0;

 private:
  /// Whether the gradient of the scale is wanted.
  bool ScaleGradientWanted(const vector<bool>& propagate_down) const;
};

}  // namespace caffe

#endif  // CAFFE_SCALE_LAYER_HPP_
