#ifndef CAFFE_SOLVERS_DETECTION_SCORES_HPP_
#define CAFFE_SOLVERS_DETECTION_SCORES_HPP_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/kernels/detection/box_lists.hpp"

namespace caffe {

/// Collects the results of a detector over all batches of a test, from tops of DetectionEvaluate.
/// Their rows are (item, label, score, is an object, is not an object). If item is -1, score is the
/// number of objects of the label.
class DetectionScores {
 public:
  /// Aborts, naming the output, if it has no such rows.
  template <typename Dtype>
  void Add(const std::string& name, const Blob<Dtype>& output);

  /// Returns the average precision of each label that has objects.
  std::map<int, double> AveragePrecisions(kernels::PrecisionMean mean) const;

 private:
  struct Class {
    std::vector<kernels::Finding> findings;
    int objects = 0;
  };
  std::map<int, Class> classes_;
};

/// Parses SolverParameter.ap_version: 11point, MaxIntegral or Integral. Returns nothing for other
/// values.
std::optional<kernels::PrecisionMean> PrecisionMeanOf(const std::string& ap_version);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_DETECTION_SCORES_HPP_
