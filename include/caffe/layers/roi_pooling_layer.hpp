#ifndef CAFFE_ROI_POOLING_LAYER_HPP_
#define CAFFE_ROI_POOLING_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
template <typename Dtype>
struct RegionPooling;
}

inline namespace library_layers {

/// Computes the maxima of pooled_h x pooled_w bins of regions (Fast R-CNN, Girshick 2015). Bottoms:
/// the maps (N x C x H x W) and R regions (R x 5: index of the item, x1, y1, x2, y2 in pixels of
/// the image, both corners included). Top: R x C x pooled_h x pooled_w.
///
/// On the map, a region begins at round(x1 * spatial_scale) and has width size = max(round(x2 *
/// spatial_scale) - round(x1 * spatial_scale) + 1, 1); likewise for rows. Bin p covers its
/// positions from floor(p size / pooled_w) to ceil((p + 1) size / pooled_w), as far as they are on
/// the map, and is 0 if none are. The regions get no gradient. On a CPU a region of an item that
/// does not exist aborts; on a GPU its values become NaN.
///
/// The backward reads the saved indices of the maxima.
template <typename Dtype>
class ROIPoolingLayer : public Layer<Dtype> {
 public:
  explicit ROIPoolingLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ROIPooling"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index == 0; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

 private:
  kernels::RegionPooling<Dtype> Pooling(const vector<Blob<Dtype>*>& bottom) const;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_ROI_POOLING_LAYER_HPP_
