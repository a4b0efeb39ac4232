#ifndef CAFFE_MULTIBOX_LOSS_LAYER_HPP_
#define CAFFE_MULTIBOX_LOSS_LAYER_HPP_

#include <vector>

#include "caffe/layers/loss_layer.hpp"

namespace caffe {

struct TrueObject;

namespace kernels {
struct MultiBoxShape;
struct Prior;
template <typename Dtype>
struct MultiBoxLoss;
}  // namespace kernels

inline namespace library_layers {

/// The loss of an object detector (SSD, Liu et al. 2016): (class losses + loc_weight * offset
/// losses) / divisor. Bottoms: the offsets, N x 4 P (without share_location, N x 4 P classes: all
/// classes of a prior, then those of the next prior); the scores, N x P classes; the priors, 1 x 2
/// x 4 P, from PriorBox; and the ground truth, 1 x 1 x G x 8, in rows of (item, label, instance,
/// xmin, ymin, xmax, ymax, difficult), where item -1 marks an unused row. Offsets and scores get
/// gradients.
///
/// Matching: the priors (or, without use_prior_for_matching, the boxes decoded from the offsets)
/// are matched to the objects of their item. Each object gets the prior that it overlaps most. With
/// PER_PREDICTION, each remaining prior is also matched to the object that it overlaps most, if the
/// overlap is at least overlap_threshold. Without share_location, each class is matched separately.
/// use_difficult_gt: false ignores difficult objects. ignore_cross_boundary_bbox ignores priors
/// that reach beyond the image.
///
/// Losses of a matched prior: its offsets are compared with those of its object (code_type; not
/// divided by the variances if encode_variance_in_target is set), each by smooth L1 or d^2 / 2. Its
/// scores are compared with the object's class, by softmax or by one sigmoid per class. Some other
/// priors are negatives: their scores are compared with background_label_id. mining_type says which
/// ones:
///
/// NONE: all priors that are not matched.
///
/// MAX_NEGATIVE: of the priors of an item that overlap every object by less than neg_overlap, those
/// with the greatest class losses, neg_pos_ratio for each matched prior.
///
/// HARD_EXAMPLE (after Shrivastava et al., OHEM, 2016): only the sample_size priors of an item with
/// the greatest losses (class and offsets) count, matched or not. If nms_param is given, a prior is
/// skipped if one with a greater loss overlaps it by more than nms_param.nms_threshold. The overlap
/// is that of the boxes decoded from the offsets or, with use_prior_for_nms, of the priors.
///
/// The divisor is chosen by loss_param, where VALID is the number of matches that count; it is at
/// least 1.
///
/// map_object_to_agnostic gives all objects the class after background_label_id. bp_inside: an
/// offset does not count if its side of the prior (without use_prior_for_matching, of the decoded
/// box) is beyond the image. Matching is done on the host, which waits for the device.
template <typename Dtype>
class MultiBoxLossLayer : public LossLayer<Dtype> {
 public:
  explicit MultiBoxLossLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "MultiBoxLoss"; }
  int ExactNumBottomBlobs() const override { return 4; }
  bool AllowForceBackward(const int bottom_index) const override { return bottom_index < 2; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

 private:
  kernels::MultiBoxShape Shape(const vector<Blob<Dtype>*>& bottom) const;
  /// The loss for the targets at `targets`; its pointers to blob values are not set.
  kernels::MultiBoxLoss<Dtype> Loss(const vector<Blob<Dtype>*>& bottom, const void* targets) const;
  /// Matches priors to objects and chooses the positions whose scores count, negatives by their
  /// `losses`. Writes the labels and then the objects of MultiBoxTargets to `targets`. Returns the
  /// number of matches.
  int Choose(const vector<Blob<Dtype>*>& bottom, const vector<Dtype>& losses,
             vector<int>* targets) const;

  /// HARD_EXAMPLE for one item. `labels` and `objects` hold all matches; removes those that are not
  /// chosen and labels the chosen negatives. Returns the number of matches left.
  int KeepHardest(const Dtype* offsets, const Dtype* scores, const vector<TrueObject>& truth,
                  const vector<kernels::Prior>& priors, const vector<bool>& left_out, int* labels,
                  int* objects) const;

  bool mining_ = false;   ///< MAX_NEGATIVE, also by do_neg_mining
  bool hardest_ = false;  ///< HARD_EXAMPLE
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_MULTIBOX_LOSS_LAYER_HPP_
