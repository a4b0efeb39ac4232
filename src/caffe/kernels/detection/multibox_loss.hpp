#ifndef CAFFE_KERNELS_DETECTION_MULTIBOX_LOSS_HPP_
#define CAFFE_KERNELS_DETECTION_MULTIBOX_LOSS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/kernels/detection/boxes.hpp"

namespace caffe {
namespace kernels {

/// The sizes of offsets (items x priors x sets x 4) and scores (items x priors x classes). `sets`
/// is 1 if all classes share a box, else `classes`.
struct MultiBoxShape {
  int64_t items = 0;
  int64_t priors = 0;
  int64_t classes = 0;
  int64_t sets = 1;
  int64_t positions() const { return items * priors; }
};

/// The targets of the boxes of a batch.
struct MultiBoxTargets {
  const double* divisor = nullptr;  ///< divides the loss
  const int* labels = nullptr;      ///< per position: the target class; -1: none
  const int* objects = nullptr;     ///< per position and set: the row of `truth`; -1: none
};

template <typename Dtype>
struct MultiBoxLoss {
  MultiBoxShape shape;
  bool logistic = false;   ///< sigmoid for each class, else softmax
  bool squared = false;    ///< loss of an offset difference d is d^2 / 2, else smooth L1
  bool variances = false;  ///< offsets are divided by the priors' variances
  bool inside = false;     ///< sides of a box outside the image have no offset loss
  bool decoded = false;    ///< `inside` looks at the decoded box, else at the prior
  BoxCode code = BoxCode::kCorner;
  double offset_weight = 1;
  const Dtype* offsets = nullptr;
  const Dtype* scores = nullptr;
  const Dtype* priors = nullptr;
  const Dtype* truth = nullptr;  ///< rows of 8 values; values 3 to 6 are a box
  MultiBoxTargets targets;
};

/// The loss of an offset difference `d`.
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

/// losses[position] = the loss of the position's scores if its class were `label`.
template <typename Dtype>
void MultiBoxClassLosses(const DeviceContext& context, const MultiBoxShape& shape, bool logistic,
                         int label, const Dtype* scores, Dtype* losses);

/// sum[0] = the loss. `losses` is workspace, one value per position.
template <typename Dtype>
void MultiBoxLossForward(const DeviceContext& context, const MultiBoxLoss<Dtype>& loss,
                         Dtype* losses, Dtype* sum);

/// Computes the derivatives times *weight, except those that are null. doffsets may alias the
/// offsets, dscores the scores.
template <typename Dtype>
void MultiBoxLossBackward(const DeviceContext& context, const MultiBoxLoss<Dtype>& loss,
                          const Dtype* weight, Dtype* doffsets, Dtype* dscores);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_DETECTION_MULTIBOX_LOSS_HPP_
