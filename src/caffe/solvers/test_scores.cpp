#include "test_scores.hpp"

#include <algorithm>
#include <map>

#include "solver_problems.hpp"

namespace caffe {

namespace {

/// Returns the mean over the classes. Logs each of them if show_per_class_result is set.
double MeanAveragePrecision(const SolverParameter& param, const DetectionScores& scores) {
  const std::map<int, double> precisions =
      scores.AveragePrecisions(*PrecisionMeanOf(param.ap_version()));
  double sum = 0;
  for (const auto& [label, precision] : precisions) {
    LOG_IF(INFO, param.show_per_class_result()) << "class" << label << ": " << precision;
    sum += precision;
  }
  return precisions.empty() ? 0 : sum / static_cast<double>(precisions.size());
}

}  // namespace

template <typename Dtype>
string LossText(Dtype weight, Dtype value) {
  if (weight == Dtype(0)) return "";
  ostringstream text;
  text << " (* " << weight << " = " << weight * value << " loss)";
  return text.str();
}

template <typename Dtype>
void TestScores<Dtype>::AddBatch() {
  size_t score = 0;
  for (size_t i = 0; i < net_.output_blobs().size(); ++i) {
    const Blob<Dtype>& output = *net_.output_blobs()[i];
    if (detection()) {
      detections_[i].Add(net_.blob_names()[net_.output_blob_indices()[i]], output);
      continue;
    }
    sums_.resize(std::max(sums_.size(), score + output.count()));
    for (int k = 0; k < output.count(); ++k) sums_[score++] += output.cpu_data()[k];
  }
}

template <typename Dtype>
vector<pair<string, Dtype>> TestScores<Dtype>::Log(int batches) const {
  vector<pair<string, Dtype>> scores;
  for (size_t i = 0; i < net_.output_blobs().size(); ++i) {
    const int blob = net_.output_blob_indices()[i];
    const string& name = net_.blob_names()[blob];
    if (detection()) {
      const auto mean = static_cast<Dtype>(MeanAveragePrecision(param_, detections_[i]));
      LOG_IF(INFO, Caffe::root_solver())
          << "    Test net output #" << i << ": " << name << " = " << mean;
      scores.emplace_back(name, mean);
      continue;
    }
    for (int k = 0; k < net_.output_blobs()[i]->count() && scores.size() < sums_.size(); ++k) {
      const Dtype mean = sums_[scores.size()] / batches;
      LOG_IF(INFO, Caffe::root_solver())
          << "    Test net output #" << scores.size() << ": " << name << " = " << mean
          << LossText(net_.blob_loss_weights()[blob], mean);
      scores.emplace_back(name, mean);
    }
  }
  return scores;
}

template class TestScores<float>;
template class TestScores<double>;
template string LossText(float, float);
template string LossText(double, double);

}  // namespace caffe
