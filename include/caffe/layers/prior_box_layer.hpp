#ifndef CAFFE_PRIOR_BOX_LAYER_HPP_
#define CAFFE_PRIOR_BOX_LAYER_HPP_

#include <utility>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct PriorMap;
}

inline namespace library_layers {

/// Generates boxes of several sizes and shapes around each position of a map (SSD, Liu et al.
/// 2016). Bottoms: the map, N x C x H x W, and the image; only their shapes are read. Top: 1 x 2 x
/// 4 H W B for B boxes at each position. Channel 0 has xmin, ymin, xmax, ymax of each box as
/// fractions of the image, channel 1 its four variances.
///
/// For each min_size s, in pixels, the boxes are, in this order: a square of side s; if max_size is
/// given (one per min_size, larger), a square of side sqrt(min * max); and for each aspect_ratio r
/// other than 1, a box of s sqrt(r) x s / sqrt(r), with `flip` followed by the same for 1 / r.
/// Repeated ratios count once.
///
/// The centre of position (w, h) is at ((w + offset) step_w, (h + offset) step_h) pixels. `step`
/// sets both steps; if unset, a step is the image's size divided by the map's. The image's size is
/// img_size, or img_h and img_w, or else that of bottom 1. `clip` clips boxes to the image.
/// `variance` has one value for all or four, 0.1 if unset. The gradient is 0.
template <typename Dtype>
class PriorBoxLayer : public Layer<Dtype> {
 public:
  explicit PriorBoxLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "PriorBox"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

 private:
  kernels::PriorMap Map(const Blob<Dtype>& map, const Blob<Dtype>& image) const;

  vector<std::pair<double, double>> boxes_;  ///< width and height of each box at one position
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_PRIOR_BOX_LAYER_HPP_
