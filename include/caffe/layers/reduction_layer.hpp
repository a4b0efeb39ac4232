#ifndef CAFFE_REDUCTION_LAYER_HPP_
#define CAFFE_REDUCTION_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Computes coeff times the sum (SUM), the sum of absolute values (ASUM), the sum of squares
/// (SUMSQ) or the mean (MEAN) over all axes from `axis` on. The top does not have these axes.
///
/// Backward variant: "x" for ASUM and SUMSQ, "dy" for others.
template <typename Dtype>
class ReductionLayer : public Layer<Dtype> {
 public:
  explicit ReductionLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Reduction"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  ReductionParameter_ReductionOp op_;
  Dtype coeff_;  ///< factor of a sum; for MEAN it includes 1 / dim_
  int axis_;
  int num_;                     ///< number of sums
  int dim_;                     ///< values in each
  Blob<Dtype> sum_multiplier_;  ///< for derived classes, if SUM or MEAN: dim_ ones
};

}  // namespace caffe

#endif  // CAFFE_REDUCTION_LAYER_HPP_
