#ifndef CAFFE_SOLVERS_DETECTION_SCORES_HPP_
#define CAFFE_SOLVERS_DETECTION_SCORES_HPP_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/kernels/detection/box_lists.hpp"

namespace caffe {

/// What all batches of a test say of a detector: from tops of DetectionEvaluate, rows of item,
/// label, score, whether it is an object, whether it is none; item -1: score is how many objects of
/// the label there are.
class DetectionScores {
 public:
  /// Aborts, naming the output, where it has no such rows.
  template <typename Dtype>
  void Add(const std::string& name, const Blob<Dtype>& output);

  /// By label, for each of which there are objects.
  std::map<int, double> AveragePrecisions(kernels::PrecisionMean mean) const;

 private:
  struct Class {
    std::vector<kernels::Finding> findings;
    int objects = 0;
  };
  std::map<int, Class> classes_;
};

/// By SolverParameter.ap_version: 11point, MaxIntegral or Integral; nothing where it is none.
std::optional<kernels::PrecisionMean> PrecisionMeanOf(const std::string& ap_version);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_DETECTION_SCORES_HPP_
