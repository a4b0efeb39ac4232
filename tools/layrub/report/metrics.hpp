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

/// Ends the program where no metrics can be added to the file, or none can be made.
void CheckMetricsFile(const std::string& path);

/// Appends a line to a file of metrics (JSON Lines) after each iteration and each test of a solver,
/// at once: however training ends, the file has whole lines. docs/report.md tells
/// what they hold. Where the disk fails, the log has a warning, and training goes on.
class Metrics final : public caffe::Solver<float>::Callback {
 public:
  /// Follows the solver, which has been placed. Lines are added to the file at `path`. From that of
  /// one that has been resumed, the lines of its iteration and of later ones are cut; with them, it
  /// stays under another name: metrics.1.jsonl of metrics.jsonl. Ends the program where that cannot
  /// be done.
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
  int64_t bytes_ = 0;  ///< of whole lines in the file
  bool failed_ = false;
  std::chrono::steady_clock::time_point start_;  ///< of the iteration
};

/// The lines of such a file as an array; one at the end that was cut short is left out. Of more
/// than `most` lines of iterations, or of tests of one net, every second, third ... and the last.
/// kInvalid where the file cannot be read or one of these lines is no JSON object.
layrub::Result<nlohmann::json> ReadMetrics(const std::string& path, size_t most);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_METRICS_HPP_
