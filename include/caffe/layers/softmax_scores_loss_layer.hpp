#ifndef CAFFE_SOFTMAX_SCORES_LOSS_LAYER_HPP_
#define CAFFE_SOFTMAX_SCORES_LOSS_LAYER_HPP_

#include <typeinfo>
#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

namespace kernels {
struct LabelCounts;
struct ScoreShape;
struct Normalizer;
template <typename Dtype>
struct LossScale;
template <typename Dtype>
struct Labels;
}  // namespace kernels

/// The axis of the classes: its value in the prototxt, where the layer keeps the index of that axis
/// of bottom 0 (set in Reshape), and its name in messages.
struct ClassAxis {
  int param;
  int* index;
  const char* name;
};

/// The inputs of losses and their derivatives, in memory of `context`.
template <typename Dtype>
struct LabelledScores {
  const DeviceContext& context;
  const kernels::ScoreShape& shape;
  const vector<Blob<Dtype>*>& bottom;
  const kernels::Labels<Dtype>& labels;
  const Dtype* prob;  ///< softmax of bottom 0; null in a forward that does not save it
};

inline namespace library_layers {

/// Base of losses of the softmax of scores (bottom 0) with a label for each position (bottom 1).
/// Losses are summed and divided as loss_param says. A subclass computes the losses from the
/// softmax, and may read further bottoms. The optional second top is the softmax. Backward
/// variants: "prob" and "x".
template <typename Dtype>
class SoftmaxScoresLossLayer : public LossLayer<Dtype> {
 public:
  /// `registered`: typeid of the registered subclass. A layer of another type belongs to a class
  /// that users derived from it. `each`: the only top is not the loss but has the loss of each
  /// position, of the shape of bottom 0 without the axis of the classes.
  SoftmaxScoresLossLayer(const LayerParameter& param, const std::type_info& registered,
                         bool each = false)
      : LossLayer<Dtype>(param), registered_(registered), each_(each) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  int ExactNumTopBlobs() const override { return -1; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  /// The divisor of the loss. `valid_count`: positions that are not ignored; -1: all.
  virtual Dtype get_normalizer(LossParameter_NormalizationMode normalization_mode, int valid_count);

  bool has_ignore_label_;
  int ignore_label_;
  LossParameter_NormalizationMode normalization_;
  int outer_num_, inner_num_;

  // Only for classes derived from the registered one; empty otherwise.
  shared_ptr<Layer<Dtype>> softmax_layer_;  ///< from softmax_bottom_vec_ to prob_
  Blob<Dtype> prob_;                        ///< shaped like bottom 0
  vector<Blob<Dtype>*> softmax_bottom_vec_, softmax_top_vec_;

 private:
  virtual ClassAxis AxisOfClasses() = 0;
  /// Computes losses[p] for each position p.
  virtual void Losses(const LabelledScores<Dtype>& scores, Dtype* losses) = 0;
  /// Computes dx, the derivative of sum(losses * scale). dx may alias the softmax.
  virtual void Gradient(const LabelledScores<Dtype>& scores, const kernels::LossScale<Dtype>& scale,
                        Dtype* dx) = 0;

  bool IsUserSubclass() const { return typeid(*this) != registered_; }
  kernels::Normalizer NormalizerOf(const DeviceContext& context,
                                   const kernels::LabelCounts* counts);

  const std::type_info& registered_;
  const bool each_;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_SOFTMAX_SCORES_LOSS_LAYER_HPP_
