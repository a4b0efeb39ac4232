#ifndef CAFFE_SOLVERS_TEST_SCORES_HPP_
#define CAFFE_SOLVERS_TEST_SCORES_HPP_

#include <string>
#include <utility>
#include <vector>

#include "caffe/net.hpp"
#include "detection_scores.hpp"

namespace caffe {

/// The scores of a test of one net: the mean over its batches of every value of every output, or,
/// with eval_type "detection", the mean average precision of each output.
template <typename Dtype>
class TestScores {
 public:
  /// Both must outlive this object.
  TestScores(const SolverParameter& param, const Net<Dtype>& net)
      : param_(param), net_(net), detections_(net.output_blobs().size()) {}

  /// To be called after each batch. Reads the net's output blobs.
  void AddBatch();
  /// Logs the scores of `batches` batches and returns the name and score of each.
  vector<pair<string, Dtype>> Log(int batches) const;

 private:
  bool detection() const { return param_.eval_type() == "detection"; }

  const SolverParameter& param_;
  const Net<Dtype>& net_;
  vector<Dtype> sums_;
  vector<DetectionScores> detections_;  ///< by output
};

/// " (* 1 = 0.42 loss)" for outputs that count towards the loss; "" for others.
template <typename Dtype>
string LossText(Dtype weight, Dtype value);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_TEST_SCORES_HPP_
