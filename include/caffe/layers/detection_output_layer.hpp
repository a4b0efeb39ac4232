#ifndef CAFFE_DETECTION_OUTPUT_LAYER_HPP_
#define CAFFE_DETECTION_OUTPUT_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

inline namespace library_layers {

/// The boxes that a detector has found (SSD, Liu et al. 2016). Bottoms: offsets, N x 4 P (without
/// share_location N x 4 P classes: those of all classes for a prior, then for the next); scores, N
/// x P classes; priors, 1 x 2 x 4 P, as PriorBox gives them; and perhaps an image, which is not
/// read. Top: 1 x 1 x K x 7, a row for each box: item, label, score, xmin, ymin, xmax, ymax. If
/// there is none, N rows of which all but the item is -1.
///
/// A box is where its offsets are from the prior (code_type; variance_encoded_in_target: they are
/// not multiples of the variances). Of each class but background_label_id, boxes whose score is
/// above confidence_threshold go through non-maximum suppression (nms_param); then the keep_top_k
/// best of an item stay. Rows are in the order of items, of labels, and of falling scores.
///
/// The top has another shape from pass to pass; before the first it has as many rows as there can
/// be. It is computed on the host, and has no gradient. Nothing is written to files, nothing is
/// shown: of save_output_param and visualize there is a warning.
template <typename Dtype>
class DetectionOutputLayer : public Layer<Dtype> {
 public:
  explicit DetectionOutputLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "DetectionOutput"; }
  int MinBottomBlobs() const override { return 3; }
  int MaxBottomBlobs() const override { return 4; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  int rows_ = 0;  ///< of the top in the last pass; 0: there was none
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_DETECTION_OUTPUT_LAYER_HPP_
