#ifndef CAFFE_INTERP_LAYER_HPP_
#define CAFFE_INTERP_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct Interpolation;
}

inline namespace library_layers {

/// Resizes N x C x H x W maps by bilinear interpolation with aligned corners: row k of the top is
/// at row k (H - 1) / (H' - 1) of the bottom (DeepLab, Chen et al. 2015; PSPNet, Zhao et al. 2017).
/// Before that, -pad_beg rows and columns are cut off at the beginning and -pad_end at the end;
/// both are 0 or less.
///
/// There are three ways to give the size. A second bottom gives its shape; its values are not read
/// and it gets no gradient. `height` and `width` give it directly. shrink_factor s and then
/// zoom_factor z change an axis of n values to m = (n - 1) / s + 1, rounded down, and then to m +
/// (m - 1) (z - 1). Does not run in place.
template <typename Dtype>
class InterpLayer : public Layer<Dtype> {
 public:
  explicit InterpLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Interp"; }
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
  /// The size that shrink_factor and zoom_factor give an axis of `size` values after the cut.
  int Resized(int size) const;
  kernels::Interpolation Map(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_INTERP_LAYER_HPP_
