#ifndef CAFFE_DETECTION_OUTPUT_LAYER_HPP_
#define CAFFE_DETECTION_OUTPUT_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Computes the boxes that a detector has found (SSD, Liu et al. 2016). Bottoms: the offsets, N x 4
/// P (without share_location, N x 4 P classes: all classes of a prior, then those of the next
/// prior); the scores, N x P classes; the priors, 1 x 2 x 4 P, from PriorBox; and optionally an
/// image, which is not read. Top: 1 x 1 x K x 7, one row (item, label, score, xmin, ymin, xmax,
/// ymax) per box. If no box is found, there are N rows, one per item, with -1 in all other columns.
///
/// A box is decoded from its prior and its offsets, as code_type says; with
/// variance_encoded_in_target the offsets are not multiplied by the variances. For each class but
/// background_label_id, the boxes with a score above confidence_threshold go through non-maximum
/// suppression (nms_param). Then the keep_top_k best boxes of each item are kept. Rows are ordered
/// by item, then by label, then by falling score.
///
/// The shape of the top varies from pass to pass; before the first pass it has the largest possible
/// number of rows. The layer runs on the host and has no gradient. It writes no files and shows no
/// images: it warns that save_output_param and visualize have no effect.
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
  int rows_ = 0;  ///< rows of the top in the last pass; 0: no pass yet
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_DETECTION_OUTPUT_LAYER_HPP_
