#ifndef CAFFE_VIEW_LAYER_HPP_
#define CAFFE_VIEW_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Base of layers that only change the shape. The top is a view of the bottom: data and diff share
/// its memory. A subclass gives the shape (ViewShape). Does not run in place.
template <typename Dtype>
class ViewLayer : public Layer<Dtype> {
 public:
  explicit ViewLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  /// The shape of the top.
  virtual vector<int> ViewShape(const Blob<Dtype>& bottom) const = 0;
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_VIEW_LAYER_HPP_
