#include "detection_scores.hpp"

namespace caffe {

template <typename Dtype>
void DetectionScores::Add(const std::string& name, const Blob<Dtype>& output) {
  CHECK(output.num_axes() > 0 && output.shape(-1) == 5)
      << "eval_type \"detection\" needs test nets whose outputs are those of DetectionEvaluate, "
      << "rows of 5; " << name << " has shape " << output.shape_string() << ".";
  const Dtype* row = output.cpu_data();
  for (int i = 0; i < output.count() / 5; ++i, row += 5) {
    Class& found = classes_[static_cast<int>(row[1])];
    if (row[0] == Dtype(-1)) {
      found.objects += static_cast<int>(row[2]);
    } else if (row[3] != 0 || row[4] != 0) {  // difficult objects are not counted
      found.findings.push_back({static_cast<double>(row[2]), row[3] != 0});
    }
  }
}

std::map<int, double> DetectionScores::AveragePrecisions(kernels::PrecisionMean mean) const {
  std::map<int, double> precisions;
  for (const auto& [label, found] : classes_) {
    if (found.objects > 0)
      precisions[label] = kernels::AveragePrecision(found.findings, found.objects, mean);
  }
  return precisions;
}

std::optional<kernels::PrecisionMean> PrecisionMeanOf(const std::string& ap_version) {
  if (ap_version == "11point") return kernels::PrecisionMean::k11Point;
  if (ap_version == "MaxIntegral") return kernels::PrecisionMean::kMaxVoc;
  if (ap_version == "Integral") return kernels::PrecisionMean::kIntegral;
  return std::nullopt;
}

template void DetectionScores::Add(const std::string&, const Blob<float>&);
template void DetectionScores::Add(const std::string&, const Blob<double>&);

}  // namespace caffe
