#ifndef CAFFE_PSROI_POOLING_LAYER_HPP_
#define CAFFE_PSROI_POOLING_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
template <typename Dtype>
struct RegionPooling;
}

inline namespace library_layers {

/// Averages group_size x group_size bins of regions; each bin reads its own channels (R-FCN, Dai et
/// al. 2016). Bottoms: the maps (N x output_dim group_size^2 x H x W) and R regions (R x 5: index
/// of the item, x1, y1, x2, y2 in pixels of the image). Top: R x output_dim x group_size x
/// group_size. Bin (i, j) of output channel c reads map channel (c group_size + i) group_size + j.
///
/// On the map, a region extends from round(x1) * spatial_scale to (round(x2) + 1) * spatial_scale
/// and is at least 0.1 wide; likewise for rows. It is divided into group_size equal bins. A bin
/// averages all map positions that it touches, and is 0 if there are none. The regions get no
/// gradient. On a CPU a region of an item that does not exist aborts; on a GPU its values become
/// NaN.
template <typename Dtype>
class PSROIPoolingLayer : public Layer<Dtype> {
 public:
  explicit PSROIPoolingLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "PSROIPooling"; }
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

#endif  // CAFFE_PSROI_POOLING_LAYER_HPP_
