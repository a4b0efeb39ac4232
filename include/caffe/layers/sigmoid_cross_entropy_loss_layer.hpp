#ifndef CAFFE_SIGMOID_CROSS_ENTROPY_LOSS_LAYER_HPP_
#define CAFFE_SIGMOID_CROSS_ENTROPY_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"
#include "caffe/layers/sigmoid_layer.hpp"

namespace caffe {

namespace kernels {
struct LabelCounts;
struct Normalizer;
}  // namespace kernels

/// The sum of -(t * log(s) + (1 - t) * log(1 - s)) with s = 1 / (1 + exp(-x)) over all scores x
/// (bottom 0) and targets t (bottom 1), divided by the number of samples or as
/// loss_param.normalization says. Targets equal to ignore_label after truncation to an integer do
/// not count.
///
/// Backward variants: "x" (recomputes s), "sigmoid" (saved).
///
/// After forward, a derived class finds s in `sigmoid_output_` and the divisor of the loss in
/// `normalizer_`. The backward uses whatever these hold when it starts. get_normalizer may be
/// overridden.
template <typename Dtype>
class SigmoidCrossEntropyLossLayer : public LossLayer<Dtype> {
 public:
  explicit SigmoidCrossEntropyLossLayer(const LayerParameter& param);
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "SigmoidCrossEntropyLoss"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  /// The divisor of the loss. `valid_count`: targets that are not ignored; -1: all.
  virtual Dtype get_normalizer(LossParameter_NormalizationMode normalization_mode, int valid_count);

  bool has_ignore_label_;
  int ignore_label_;
  LossParameter_NormalizationMode normalization_;
  int outer_num_, inner_num_;

  // Only for derived classes; empty in a layer of this class.
  shared_ptr<SigmoidLayer<Dtype>> sigmoid_layer_;  ///< from sigmoid_bottom_vec_ to sigmoid_output_
  shared_ptr<Blob<Dtype>> sigmoid_output_;
  vector<Blob<Dtype>*> sigmoid_bottom_vec_, sigmoid_top_vec_;
  Dtype normalizer_;

 private:
  /// Whether the divisor depends on a count of targets.
  bool Counts() const;
  kernels::Normalizer NormalizerOf(const kernels::LabelCounts* counts) const;
};

}  // namespace caffe

#endif  // CAFFE_SIGMOID_CROSS_ENTROPY_LOSS_LAYER_HPP_
