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

/// The means of group_size x group_size bins of regions, each bin of channels of its own (R-FCN,
/// Dai et al. 2016). Bottoms: maps (N x output_dim group_size^2 x H x W) and R regions (R x 5:
/// number of the item, x1, y1, x2, y2 in pixels of the image); top: R x output_dim x group_size x
/// group_size. Bin (i, j) of channel c is that of channel (c group_size + i) group_size + j.
///
/// On the map a region goes from round(x1) * spatial_scale to (round(x2) + 1) * spatial_scale and
/// is 0.1 wide at least; a bin, its group_size-th part, has all places of the map that it touches,
/// and is 0 without any. The same for rows. The regions get no gradient. On a CPU a region of an
/// item that does not exist is fatal; on a GPU its values are not a number.
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
