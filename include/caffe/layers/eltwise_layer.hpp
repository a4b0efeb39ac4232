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
/// the bottoms for a product, and the top as well without stable_prod_grad. For a sum that is fused
/// with a ReLU it has forms: "y" (the top's sign; not offered for a negative slope), "mask" (one
/// bit per value).
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
  /// A sum fuses with a ReLU.
  virtual shared_ptr<Layer<Dtype>> FusedWith(Layer<Dtype>& next,
                                             const vector<Blob<Dtype>*>& bottom) const;

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
  /// once, later ones after the derivative has been written once. `sign`: where a rectifier's is.
  vector<Operand> Factors(int i, int bottoms, const Operand& sign) const;
  OperandForm BackwardForm(const vector<bool>& propagate_down, const Operand& sign) const;
  /// The top has the sign of what was rectified.
  bool TopTells() const { return !(negative_slope_ < 0); }

  bool rectifies_ = false;    ///< a ReLU comes last
  Dtype negative_slope_ = 0;  ///< of it
};

}  // namespace caffe

#endif  // CAFFE_ELTWISE_LAYER_HPP_
