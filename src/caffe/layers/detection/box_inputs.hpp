#ifndef CAFFE_LAYERS_DETECTION_BOX_INPUTS_HPP_
#define CAFFE_LAYERS_DETECTION_BOX_INPUTS_HPP_

// Bottoms that several layers of SSD have.

#include <string>
#include <vector>

#include "caffe/kernels/detection/box_lists.hpp"
#include "caffe/kernels/detection/multibox_loss.hpp"
#include "caffe/layer.hpp"

namespace caffe {

inline kernels::BoxCode CodeOf(PriorBoxParameter_CodeType type) {
  switch (type) {
    case PriorBoxParameter_CodeType_CENTER_SIZE:
      return kernels::BoxCode::kCenterSize;
    case PriorBoxParameter_CodeType_CORNER_SIZE:
      return kernels::BoxCode::kCornerSize;
    default:
      return kernels::BoxCode::kCorner;
  }
}

/// Returns the shape of a detector's outputs. Aborts, naming the layer, unless offsets (N x 4 P, or
/// without `share_location` N x 4 P classes), scores (N x P classes) and priors (1 x 2 x 4 P) fit
/// together. Further axes of length 1 are allowed.
template <typename Dtype>
kernels::MultiBoxShape CheckBoxInputs(const string& layer, const vector<Blob<Dtype>*>& bottom,
                                      int64_t classes, bool share_location) {
  const Blob<Dtype>&offsets = *bottom[0], &scores = *bottom[1], &priors = *bottom[2];
  CHECK_GT(classes, 0) << "Layer " << layer << ": num_classes must be set.";
  CHECK(priors.num_axes() >= 3 && priors.shape(0) == 1 && priors.shape(1) == 2 &&
        priors.count(2) % 4 == 0 && priors.count() > 0)
      << "Layer " << layer << ": bottom 2 must be boxes of PriorBox, 1 x 2 x 4 P, not shape "
      << priors.shape_string() << ".";
  kernels::MultiBoxShape shape;
  shape.priors = priors.count(2) / 4;
  shape.classes = classes;
  shape.sets = share_location ? 1 : classes;
  for (const Blob<Dtype>* blob : {&offsets, &scores}) {
    CHECK(blob->num_axes() >= 2 && blob->shape(0) == offsets.shape(0))
        << "Layer " << layer << ": bottoms 0 and 1 must have the same number of items, not shapes "
        << offsets.shape_string() << " and " << scores.shape_string() << ".";
  }
  shape.items = offsets.shape(0);
  CHECK_EQ(offsets.count(1), shape.priors * shape.sets * 4)
      << "Layer " << layer << ": bottom 0, shape " << offsets.shape_string()
      << ", must have 4 offsets for each of " << shape.priors << " priors"
      << (share_location ? "." : " and each class.");
  CHECK_EQ(scores.count(1), shape.priors * classes)
      << "Layer " << layer << ": bottom 1, shape " << scores.shape_string() << ", must have "
      << classes << " scores for each of " << shape.priors << " priors.";
  return shape;
}

/// An object of the ground truth.
struct TrueObject {
  int row;   ///< row of the blob
  int item;  ///< item of the batch
  int label;
  kernels::BoundingBox box;
  bool difficult;
};

/// Aborts, naming the layer, unless `truth` has the shape of a ground truth: 1 x 1 x G x 8.
template <typename Dtype>
void CheckTruthShape(const string& layer, int bottom, const Blob<Dtype>& truth) {
  CHECK(truth.num_axes() >= 1 && truth.shape(-1) == 8)
      << "Layer " << layer << ": bottom " << bottom << ", the ground truth, must have rows of 8 "
      << "(item, label, instance, xmin, ymin, xmax, ymax, difficult), not shape "
      << truth.shape_string() << ".";
}

/// Returns the rows of the ground truth whose item is not -1, in order. Aborts, naming the layer,
/// if a label is not a class or is `background`.
template <typename Dtype>
vector<TrueObject> ReadTruth(const string& layer, const Blob<Dtype>& truth, int64_t classes,
                             int64_t background) {
  vector<TrueObject> objects;
  const Dtype* row = truth.cpu_data();
  for (int i = 0; i < truth.count() / 8; ++i, row += 8) {
    if (row[0] == Dtype(-1)) continue;
    CHECK(row[0] >= 0 && row[0] < Dtype(1 << 30))
        << "Layer " << layer << ": row " << i << " of the ground truth has item " << row[0] << ".";
    CHECK(row[1] >= 0 && row[1] < static_cast<Dtype>(classes) &&
          static_cast<int64_t>(row[1]) != background)
        << "Layer " << layer << ": row " << i << " of the ground truth has label " << row[1]
        << ", which is not a class of objects: there are " << classes << " classes, and class "
        << background << " is the background.";
    objects.push_back({i, static_cast<int>(row[0]), static_cast<int>(row[1]),
                       kernels::BoxAt(row + 3), row[7] != 0});
  }
  return objects;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_DETECTION_BOX_INPUTS_HPP_
