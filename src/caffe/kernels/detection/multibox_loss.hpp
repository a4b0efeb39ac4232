#ifndef CAFFE_KERNELS_DETECTION_MULTIBOX_LOSS_HPP_
#define CAFFE_KERNELS_DETECTION_MULTIBOX_LOSS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/kernels/detection/boxes.hpp"

namespace caffe {
namespace kernels {

/// Offsets (items x priors x sets x 4) and scores (items x priors x classes). `sets`: 1 where all
/// classes share a box, else one for each class.
struct MultiBoxShape {
  int64_t items = 0;
  int64_t priors = 0;
  int64_t classes = 0;
  int64_t sets = 1;
  int64_t positions() const { return items * priors; }
};

/// What the boxes of a batch are to be.
struct MultiBoxTargets {
  const double* divisor = nullptr;  ///< of the loss
  const int* labels = nullptr;      ///< positions: the class that is wanted; -1: none
  const int* objects = nullptr;     ///< positions x sets: the row of the truth; -1: none
};

template <typename Dtype>
struct MultiBoxLoss {
  MultiBoxShape shape;
  bool logistic = false;   ///< a sigmoid for each class, else a softmax
  bool squared = false;    ///< d^2 / 2 of offsets that are d apart, else smooth L1
  bool variances = false;  ///< offsets are divided by the priors' variances
  bool inside = false;     ///< a side of a box that is beyond the image counts no offset
  bool decoded = false;    ///< that box is what the offsets give, else the prior
  BoxCode code = BoxCode::kCorner;
  double offset_weight = 1;
  const Dtype* offsets = nullptr;
  const Dtype* scores = nullptr;
  const Dtype* priors = nullptr;
  const Dtype* truth = nullptr;  ///< rows of 8, of which 3 to 6 are a box
  MultiBoxTargets targets;
};

/// The loss of offsets that are `d` apart.
LAYRUB_HOST_DEVICE inline double OffsetLoss(double d, bool squared) {
  const double distance = d < 0 ? -d : d;
  return squared || distance < 1 ? d * d / 2 : distance - 0.5;
}

/// Which sides of the box are within the image.
LAYRUB_HOST_DEVICE inline void FindSidesInside(const BoundingBox& box, bool (&inside)[4]) {
  const double sides[] = {box.xmin, box.ymin, box.xmax, box.ymax};
  for (int k = 0; k < 4; ++k) inside[k] = sides[k] >= 0 && sides[k] <= 1;
}

/// On the host: the loss of the `classes` scores of a box of class `label`.
template <typename Dtype>
double MultiBoxClassLoss(const Dtype* scores, int64_t classes, bool logistic, int64_t label);

/// losses[position]: the loss of the scores there, were it a box of class `label`.
template <typename Dtype>
void MultiBoxClassLosses(const DeviceContext& context, const MultiBoxShape& shape, bool logistic,
                         int label, const Dtype* scores, Dtype* losses);

/// The loss; losses[position] is workspace.
template <typename Dtype>
void MultiBoxLossForward(const DeviceContext& context, const MultiBoxLoss<Dtype>& loss,
                         Dtype* losses, Dtype* sum);

/// The derivatives times *weight, where they are not null. Each may lie on what it is of.
template <typename Dtype>
void MultiBoxLossBackward(const DeviceContext& context, const MultiBoxLoss<Dtype>& loss,
                          const Dtype* weight, Dtype* doffsets, Dtype* dscores);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_DETECTION_MULTIBOX_LOSS_HPP_
