#ifndef CAFFE_KERNELS_DETECTION_BOX_LISTS_HPP_
#define CAFFE_KERNELS_DETECTION_BOX_LISTS_HPP_

// Algorithms for lists of boxes, on the host: matching, suppression, average precision.

#include <limits>
#include <vector>

#include "caffe/kernels/detection/boxes.hpp"

namespace caffe {
namespace kernels {

/// The result of MatchBoxes for one box.
struct BoxMatch {
  int object = -1;     ///< the matched object; -1: none
  double overlap = 0;  ///< greatest overlap with any object
};

/// Matches boxes to objects (SSD, Liu et al. 2016). First each object gets one box of its own: the
/// pair of an unmatched box and an unmatched object that overlaps most is matched, repeatedly.
/// Then, if `each_box`, every remaining box is matched to the object that it overlaps most, if the
/// overlap is at least `threshold`. An overlap of 1e-6 or less does not count. Ties go to the first
/// box, then to the first object. Boxes flagged in `left_out` (empty: none) are ignored.
std::vector<BoxMatch> MatchBoxes(const std::vector<BoundingBox>& boxes,
                                 const std::vector<bool>& left_out,
                                 const std::vector<BoundingBox>& objects, bool each_box,
                                 double threshold);

/// Parameters of Suppress.
struct Suppression {
  double threshold = 0.3;  ///< boxes that overlap a better one by more are dropped
  double eta = 1;  ///< multiplies the threshold after each kept box, while that is above 0.5
  int top_k = -1;  ///< considers only this many best scores; -1: all
  double least_score = -std::numeric_limits<double>::infinity();  ///< scores must be greater
};

/// Non-maximum suppression. Returns the indices of the kept boxes, best score first.
std::vector<int> Suppress(const std::vector<BoundingBox>& boxes, const std::vector<double>& scores,
                          const Suppression& how);

/// A detected box.
struct Finding {
  double score = 0;
  bool is_true = false;  ///< it matches an object
};

/// kIntegral: the sum of precision times the step in recall. k11Point: the mean over r = 0, 0.1,
/// ..., 1 of the greatest precision at a recall of at least r (VOC 2007). kMaxVoc: the area under
/// the curve of the greatest precision at each recall or more (VOC 2012).
enum class PrecisionMean { kIntegral, k11Point, kMaxVoc };

/// The average precision of the findings of one class, which has `objects` objects; 0 if none.
double AveragePrecision(std::vector<Finding> findings, int objects, PrecisionMean mean);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_DETECTION_BOX_LISTS_HPP_
