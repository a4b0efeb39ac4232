#ifndef CAFFE_DETECTION_EVALUATE_LAYER_HPP_
#define CAFFE_DETECTION_EVALUATE_LAYER_HPP_

#include <cstdint>
#include <utility>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Which detections are objects, for the average precision of each class (PASCAL VOC). Bottoms:
/// detections, 1 x 1 x K x 7, as DetectionOutput gives them; objects, 1 x 1 x G x 8, in rows of
/// item (-1: none), label, instance, xmin, ymin, xmax, ymax, difficult. Top: 1 x 1 x M x 5; first,
/// for each class but background_label_id, a row of -1, label, number of objects, -1, -1; then a
/// row for each detection: item, label, score, 1 if it is an object, 1 if it is none.
///
/// The detections of an item and a label are looked at from the best score down. Each is compared
/// with the object of its item and label that it overlaps most: if by overlap_threshold at least,
/// and none before was that object, it is it. evaluate_difficult_gt: false does not count difficult
/// objects, and the last two numbers of a detection that is one are 0.
///
/// Overlaps are in parts of the image; with name_size_file in pixels, of which a maximum is the
/// last: boxes are cut at the image's borders, and the image's size is that of the file's next line
/// ("name height width"), line after line over all passes, and then again from the first. A batch
/// has as many images as its greatest item says, in detections and objects. resize_param is how
/// the images were resized: boxes are in parts of what came out, which may have been padded.
///
/// The top has another shape from pass to pass: rows of detections whose label is -1 are left out,
/// but before the first, when labels are not known. It is computed on the host, and has no
/// gradient.
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
  /// The heights and widths of name_size_file. Aborts where it cannot be read.
  void ReadSizes();

  int found_ = -1;  ///< detections of the last pass; -1: there was none
  std::vector<std::pair<double, double>> sizes_;  ///< of images, once they are needed
  uint64_t next_image_ = 0;                       ///< its place in sizes_
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_DETECTION_EVALUATE_LAYER_HPP_
