#ifndef CAFFE_AXIS_ORDER_LAYER_HPP_
#define CAFFE_AXIS_ORDER_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Base of layers that reorder the axes of their bottom. A subclass gives the order (OrderOf). An
/// order that changes nothing shares the bottom's memory. Does not run in place.
template <typename Dtype>
class AxisOrderLayer : public Layer<Dtype> {
 public:
  explicit AxisOrderLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  /// The bottom is seen as an array of shape `dims`; its axis order[k] becomes axis k; the result
  /// is seen as an array of shape `top`.
  struct AxisOrder {
    vector<int> dims, order, top;
  };
  virtual AxisOrder OrderOf(const Blob<Dtype>& bottom) const = 0;

  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

 private:
  bool KeepsAxisOrder() const;

  AxisOrder order_;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_AXIS_ORDER_LAYER_HPP_
