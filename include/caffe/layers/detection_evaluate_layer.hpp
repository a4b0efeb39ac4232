#ifndef CAFFE_DETECTION_EVALUATE_LAYER_HPP_
#define CAFFE_DETECTION_EVALUATE_LAYER_HPP_

#include <cstdint>
#include <utility>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Decides which detections are right, for the average precision of each class (PASCAL VOC).
/// Bottoms: the detections, 1 x 1 x K x 7, from DetectionOutput, and the ground truth, 1 x 1 x G x
/// 8, in rows of (item, label, instance, xmin, ymin, xmax, ymax, difficult), where item -1 marks an
/// unused row. Top: 1 x 1 x M x 5. It begins with one row for each class but background_label_id:
/// (-1, label, number of objects, -1, -1). A row for each detection follows: (item, label, score, 1
/// if right, 1 if wrong).
///
/// The detections of each item and label are matched in order of falling score. A detection is
/// compared with the object of its item and label that it overlaps most. It is right if the overlap
/// is at least overlap_threshold and no earlier detection was matched to that object. With
/// evaluate_difficult_gt: false, difficult objects are not counted, and a detection of one has 0
/// for both flags.
///
/// Overlaps are computed in fractions of the image or, with name_size_file, in pixels. Boxes in
/// pixels are clipped to the image and include the pixels at their maxima. Each image takes the
/// next line of the file ("name height width"), over all passes; after the last line comes the
/// first. The number of images in a batch is given by the greatest item in detections and ground
/// truth. resize_param says how the images were resized: boxes are fractions of the result, which
/// may include padding.
///
/// The shape of the top varies from pass to pass, since detections with label -1 are left out;
/// before the first pass they are counted. The layer runs on the host and has no gradient.
template <typename Dtype>
class DetectionEvaluateLayer : public Layer<Dtype> {
 public:
  explicit DetectionEvaluateLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "DetectionEvaluate"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;
  void SaveProgress(LayerProgress* progress) const override;
  bool RestoreProgress(const LayerProgress& progress) override;

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  /// Reads heights and widths from name_size_file. Aborts if it cannot be read.
  void ReadSizes();

  int found_ = -1;                                ///< detections in the last pass; -1: no pass yet
  std::vector<std::pair<double, double>> sizes_;  ///< heights and widths; empty until needed
  uint64_t next_image_ = 0;                       ///< index into sizes_
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_DETECTION_EVALUATE_LAYER_HPP_
