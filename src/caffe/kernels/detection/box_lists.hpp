#ifndef CAFFE_KERNELS_DETECTION_BOX_LISTS_HPP_
#define CAFFE_KERNELS_DETECTION_BOX_LISTS_HPP_

// What is done with lists of boxes, on the host: matching, suppression, average precision.

#include <limits>
#include <vector>

#include "caffe/kernels/detection/boxes.hpp"

namespace caffe {
namespace kernels {

/// What MatchBoxes says of a box.
struct BoxMatch {
  int object = -1;     ///< the object that it is matched to; -1: none
  double overlap = 0;  ///< the greatest with any object
};

/// Matches boxes to objects (SSD, Liu et al. 2016). First each object gets one box of its own: of
/// all pairs of which neither is matched, the one that overlaps most, again and again. Then, if
/// `each_box`, every box that is left gets the object that it overlaps most, if by `threshold` at
/// least. An overlap of 1e-6 or less is none; of equal ones the first box, then the first object
/// counts. Boxes that are flagged in `left_out` (empty: none) take no part.
std::vector<BoxMatch> MatchBoxes(const std::vector<BoundingBox>& boxes,
                                 const std::vector<bool>& left_out,
                                 const std::vector<BoundingBox>& objects, bool each_box,
                                 double threshold);

/// How Suppress chooses.
struct Suppression {
  double threshold = 0.3;  ///< boxes that overlap a better one by more go
  double eta = 1;  ///< the threshold, while above 0.5, is multiplied by it for each box kept
  int top_k = -1;  ///< only so many of the best scores are looked at; -1: all
  double least_score = -std::numeric_limits<double>::infinity();  ///< a score must be greater
};

/// Non-maximum suppression: indices of the boxes that stay, best score first.
std::vector<int> Suppress(const std::vector<BoundingBox>& boxes, const std::vector<double>& scores,
                          const Suppression& how);

/// A box that a detector has found.
struct Finding {
  double score = 0;
  bool is_true = false;  ///< it is one of the objects
};

/// kIntegral: the sum of precision times the step in recall; k11Point: the mean of the greatest
/// precisions at recalls of 0, 0.1, ... 1 or more (VOC 2007); kMaxVoc: the area under the greatest
/// precision at each recall or more (VOC 2012).
enum class PrecisionMean { kIntegral, k11Point, kMaxVoc };

/// The average precision of findings of one class, of which there are `objects`; 0 if none.
double AveragePrecision(std::vector<Finding> findings, int objects, PrecisionMean mean);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_DETECTION_BOX_LISTS_HPP_
