#ifndef CAFFE_FILTER_LAYER_HPP_
#define CAFFE_FILTER_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Lets those items of its bottoms through, along the first axis, for which the last bottom, the
/// selector, is not 0: one top for each other bottom. The selector has one value an item and gets
/// no gradient; items that are left out get none either.
///
/// How many items come out changes from pass to pass. At set-up, when the selector has no values
/// yet, the tops have the shapes of the bottoms; while the selector's values are out of reach (its
/// memory is planned), as many items as last.
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

  bool need_first_reshape_ = true;  ///< the tops have had no shape yet
  vector<int> indices_to_forward_;  ///< the items that come out, in order

 private:
  /// Sets indices_to_forward_.
  void Choose(const Blob<Dtype>& selector);
  void ReshapeTops(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) const;

  bool chosen_ = false;  ///< indices_to_forward_ has been set
};

}  // namespace caffe

#endif  // CAFFE_FILTER_LAYER_HPP_
