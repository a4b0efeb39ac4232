#ifndef CAFFE_SOFTMAX_LAYER_HPP_
#define CAFFE_SOFTMAX_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// y = exp(x) / (sum of exp(x) along one axis). May run in place.
///
/// Backward variants: "y", "saved" (a copy of y).
///
/// In a derived class, the backward of this class reads the top's data.
template <typename Dtype>
class SoftmaxLayer : public Layer<Dtype> {
 public:
  explicit SoftmaxLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline const char* type() const { return "Softmax"; }
  virtual inline int ExactNumBottomBlobs() const { return 1; }
  virtual inline int ExactNumTopBlobs() const { return 1; }
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                          const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom);

  int softmax_axis_, outer_num_, inner_num_;

  // For derived classes; empty in a layer of this class.
  Blob<Dtype> sum_multiplier_;  ///< ones, one for each class
  Blob<Dtype> scale_;           ///< workspace: the shape of bottom 0, with one class
};

}  // namespace caffe

#endif  // CAFFE_SOFTMAX_LAYER_HPP_
