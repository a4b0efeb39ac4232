#ifndef CAFFE_ELTWISE_LAYER_HPP_
#define CAFFE_ELTWISE_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Combines two or more bottoms of one shape value by value: product, weighted sum or maximum.
/// Among equal values, the maximum takes that of the second bottom rather than that of the first;
/// otherwise the earlier bottom wins. The sum and the maximum may run in place on the first bottom.
///
/// For a sum, backward needs no values. For a maximum it needs the saved index of the winner (one
/// byte per value), for a product the bottoms and, without stable_prod_grad, the top. A sum that is
/// fused with a ReLU has two variants: "y" (the top's sign; not offered for a negative slope) and
/// "mask" (one bit per value).
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
  /// The operands of the derivative of bottom `i`, in the order of their use: the first two at
  /// once, the others after the derivative has been written once. `sign`: the operand that holds
  /// the sign of the ReLU's input.
  vector<Operand> Factors(int i, int bottoms, const Operand& sign) const;
  OperandVariant BackwardVariant(const vector<bool>& propagate_down, const Operand& sign) const;
  /// Whether the top has the sign of the ReLU's input.
  bool TopHasReluSign() const { return !(negative_slope_ < 0); }

  bool has_relu_ = false;     ///< a ReLU comes last
  Dtype negative_slope_ = 0;  ///< of the ReLU
};

}  // namespace caffe

#endif  // CAFFE_ELTWISE_LAYER_HPP_
