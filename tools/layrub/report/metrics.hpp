#ifndef TOOLS_LAYRUB_REPORT_METRICS_HPP_
#define TOOLS_LAYRUB_REPORT_METRICS_HPP_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "caffe/solver.hpp"
#include "layrub/base/status.hpp"

namespace layrub_tool {

/// Ends the program if metrics cannot be appended to the file, or the file cannot be created.
void CheckMetricsFile(const std::string& path);

/// Appends a line to a file of metrics (JSON Lines) after each iteration and each test of a solver.
/// Each line is written at once, so the file has only whole lines however training ends.
/// docs/report.md documents the keys. If a write fails, a warning is logged once and training goes
/// on.
class Metrics final : public caffe::Solver<float>::Callback {
 public:
  /// `solver` must have been placed. Appends lines to the file at `path`. If `resumed`, first
  /// removes the lines of the solver's current iteration and of later ones, and keeps the old file
  /// under another name, such as metrics.1.jsonl. Ends the program on failure.
  Metrics(caffe::Solver<float>* solver, const std::string& path, bool resumed);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

 protected:
  void on_start() override;
  void on_gradients_ready() override {}
  void on_update_done() override;
  void on_test_done(int net) override;

 private:
  void Write(const nlohmann::ordered_json& line);

  caffe::Solver<float>* const solver_;
  const std::string path_;
  int file_ = -1;
  int64_t bytes_ = 0;  ///< size of the whole lines in the file
  bool failed_ = false;
  std::chrono::steady_clock::time_point start_;  ///< of the iteration
};

/// Returns the lines of such a file as an array, without an incomplete last line. If there are more
/// than `most` lines of iterations, or of tests of one net, returns only every second, third and so
/// on of them, and the last. Returns kInvalid if the file cannot be read or one of these lines is
/// not a JSON object.
layrub::Result<nlohmann::json> ReadMetrics(const std::string& path, size_t most);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_METRICS_HPP_
