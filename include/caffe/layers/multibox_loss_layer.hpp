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

/// The loss of a detector of objects (SSD, Liu et al. 2016): (class losses + loc_weight * offset
/// losses) / divisor. Bottoms: offsets, N x 4 P (without share_location N x 4 P classes: those of
/// all classes for a prior, then for the next); scores, N x P classes; priors, 1 x 2 x 4 P, as
/// PriorBox gives them; objects, 1 x 1 x G x 8, in rows of item (-1: none), label, instance, xmin,
/// ymin, xmax, ymax, difficult. Offsets and scores take gradients.
///
/// Priors (or, without use_prior_for_matching, the boxes that the offsets give) are matched to the
/// objects of their item: each object gets the one that it overlaps most; with PER_PREDICTION each
/// of the others also gets the object that it overlaps most, if by overlap_threshold. Without
/// share_location that is done for each class. use_difficult_gt: false leaves difficult objects
/// out; ignore_cross_boundary_bbox priors that are not within the image.
///
/// Of a matched prior the offsets are compared with those of the object (code_type; with
/// encode_variance_in_target not divided by the variances), by smooth L1, or d^2 / 2, each; and the
/// scores with the object's class, by softmax or by a sigmoid for each class. So are with
/// background_label_id the scores of all other priors (mining_type: NONE); or (MAX_NEGATIVE), for
/// each item, of those that overlap every object by less than neg_overlap and have the greatest
/// class losses, neg_pos_ratio for each that is matched. With HARD_EXAMPLE (after Shrivastava et
/// al., OHEM, 2016) only the sample_size priors of an item with the greatest losses, of class and
/// offsets, count, matched or not: of those that overlap by more than nms_param.nms_threshold,
/// where nms_param is given, the one with the greatest; what overlaps are the boxes that the
/// offsets give, or, with use_prior_for_nms, the priors. The divisor is loss_param's, VALID being
/// the number of matches that count, and at least 1.
///
/// map_object_to_agnostic: all objects have the class behind background_label_id. bp_inside: where
/// a side of the prior (without use_prior_for_matching of the box that the offsets give) is beyond
/// the image, its offset does not count. The host matches, and waits for the device.
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
  /// The loss by the targets at `targets`, without values of blobs.
  kernels::MultiBoxLoss<Dtype> Loss(const vector<Blob<Dtype>*>& bottom, const void* targets) const;
  /// Matches, and chooses the positions whose scores count, the negatives by their `losses`. Gives
  /// the labels and objects of MultiBoxTargets, one list after the other, and the matches' number.
  int Choose(const vector<Blob<Dtype>*>& bottom, const vector<Dtype>& losses,
             vector<int>* targets) const;

  /// HARD_EXAMPLE, for one item: chooses among labels and objects, which have all matches. Returns
  /// how many of these are left.
  int KeepHardest(const Dtype* offsets, const Dtype* scores, const vector<TrueObject>& truth,
                  const vector<kernels::Prior>& priors, const vector<bool>& left_out, int* labels,
                  int* objects) const;

  bool mining_ = false;   ///< MAX_NEGATIVE
  bool hardest_ = false;  ///< HARD_EXAMPLE
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_MULTIBOX_LOSS_LAYER_HPP_
