#ifndef CAFFE_UPSAMPLE_LAYER_HPP_
#define CAFFE_UPSAMPLE_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Enlarges N x C x H x W maps.
///
/// With two bottoms (SegNet, Badrinarayanan et al. 2017), these are values and the mask, the second
/// top of a max Pooling. Each value is written to the index that the mask gives (row * width +
/// column in its channel's plane of the top); all other values are 0. If a mask names an index more
/// than once, the last value is kept, and all of these values get the gradient. The mask gets none.
/// The top's size is upsample_h x upsample_w or, without these, scale (or scale_h, scale_w) times
/// the bottom's, less one row with pad_out_h and one column with pad_out_w. On a CPU an index
/// outside the plane aborts; on a GPU its value is left out.
///
/// With one bottom (YOLOv3, Redmon and Farhadi 2018), each value is repeated scale x scale times,
/// and its gradient is the sum of theirs. Does not run in place.
template <typename Dtype>
class UpsampleLayer : public Layer<Dtype> {
 public:
  explicit UpsampleLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Upsample"; }
  int MinBottomBlobs() const override { return 1; }
  int MaxBottomBlobs() const override { return 2; }
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
  int scale_h_ = 1, scale_w_ = 1;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_UPSAMPLE_LAYER_HPP_
