#ifndef TOOLS_LAYRUB_TRAINING_REPORT_HPP_
#define TOOLS_LAYRUB_TRAINING_REPORT_HPP_

#include <string>

#include "caffe/solver.hpp"
#include "layrub/report/report.hpp"

namespace layrub_tool {

/// Where the metrics of a report are.
std::string MetricsFile(const std::string& folder);

/// Writes the report of a training that has ended into the folder, which has its metrics: of the
/// plan that it ended under, with the last iteration as it was measured (ExecutorOptions::record).
/// Ends the program where that cannot be written.
void WriteTrainingReport(const std::string& folder, caffe::Solver<float>* solver);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_TRAINING_REPORT_HPP_
