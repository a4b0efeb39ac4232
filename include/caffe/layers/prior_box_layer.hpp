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

/// Boxes of several sizes and shapes around each position of a map (SSD, Liu et al. 2016). Bottoms:
/// the map, N x C x H x W, and the image, of which only the shapes matter. Top: 1 x 2 x 4 H W B for
/// B boxes at each position; channel 0: xmin, ymin, xmax, ymax of each box in parts of the image,
/// channel 1: its four variances.
///
/// For each min_size s, in pixels, the boxes are: the square of s; with max_size (one for each
/// min_size, larger) the square of sqrt(min * max); s sqrt(r) x s / sqrt(r) for each aspect_ratio r
/// but 1 and, with flip, 1 / r after it; ratios that are there already count once. A position is
/// at (w + offset, h + offset) steps; step, or step_h and step_w, in pixels, is that of the image's
/// size (img_size, or img_h and img_w; unset: bottom 1's) to the map's unless set. clip cuts boxes
/// at the image's borders. variance: one for all or four; 0.1 if unset. The gradient is 0.
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

  vector<std::pair<double, double>> boxes_;  ///< width and height of those at one position
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_PRIOR_BOX_LAYER_HPP_
