#ifndef CAFFE_ELTWISE_LAYER_HPP_
#define CAFFE_ELTWISE_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Combines two or more bottoms of one shape value by value: product, weighted sum or maximum. Of
/// equal values the maximum takes that of the second bottom rather than the first, else the earlier
/// one. The sum and the maximum may run in place on the first bottom.
///
/// Backward needs nothing for a sum, the number of the winner (one byte per value) for a maximum,
/// the bottoms for a product, and the top as well without stable_prod_grad.
template <typename Dtype>
class EltwiseLayer : public Layer<Dtype> {
 public:
  explicit EltwiseLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline const char* type() const { return "Eltwise"; }
  virtual inline int MinBottomBlobs() const { return 2; }
  virtual inline int ExactNumTopBlobs() const { return 1; }
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                          const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom);

  EltwiseParameter_EltwiseOp op_;
  vector<Dtype> coeffs_;
  bool stable_prod_grad_;

 private:
  /// What the derivative of bottom `i` is computed from, in the order of use: the first two at
  /// once, later ones after the derivative has been written once.
  vector<Operand> Factors(int i, int bottoms) const;
  OperandForm BackwardForm(const vector<bool>& propagate_down) const;
};

}  // namespace caffe

#endif  // CAFFE_ELTWISE_LAYER_HPP_
