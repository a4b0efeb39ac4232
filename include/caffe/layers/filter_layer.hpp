#ifndef CAFFE_FILTER_LAYER_HPP_
#define CAFFE_FILTER_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Passes on the items of its bottoms, along the first axis, for which the last bottom, the
/// selector, is not 0. There is one top for each other bottom. The selector has one value per item
/// and gets no gradient; the gradient of dropped items is 0.
///
/// The number of items in the tops varies from pass to pass. At set-up, when the selector has no
/// values yet, the tops have the shapes of the bottoms. While the selector cannot be read (its
/// memory is planned), they keep the number of items of the last pass.
template <typename Dtype>
class FilterLayer : public Layer<Dtype> {
 public:
  explicit FilterLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "Filter"; }
  int MinBottomBlobs() const override { return 2; }
  int MinTopBlobs() const override { return 1; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  bool need_first_reshape_ = true;  ///< there was no Reshape so far
  vector<int> indices_to_forward_;  ///< the selected items, ascending

 private:
  /// Sets indices_to_forward_.
  void Choose(const Blob<Dtype>& selector);
  void ReshapeTops(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) const;

  bool chosen_ = false;  ///< indices_to_forward_ has been set
};

}  // namespace caffe

#endif  // CAFFE_FILTER_LAYER_HPP_
