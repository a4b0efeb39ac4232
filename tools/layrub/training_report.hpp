#ifndef TOOLS_LAYRUB_TRAINING_REPORT_HPP_
#define TOOLS_LAYRUB_TRAINING_REPORT_HPP_

#include <string>

#include "caffe/solver.hpp"
#include "layrub/report/report.hpp"

namespace layrub_tool {

/// The path of the metrics in the folder of a report.
std::string MetricsFile(const std::string& folder);

/// Calls CheckReportFolder, and CheckMetricsFile for the metrics.
void CheckTrainingReport(const std::string& folder);

/// For a training that starts from the beginning: renames the report and metrics that an earlier
/// run has left in the folder. Ends the program on failure.
void RenameOldReport(const std::string& folder);

/// Writes the report of a finished training into `folder`, which has its metrics. The report shows
/// the last plan and the last iteration as measured (ExecutorOptions::record). `solvers` is the
/// number of solvers that trained together. Metrics that cannot be read are left out with a
/// warning. Ends the program if the report cannot be written.
void WriteTrainingReport(const std::string& folder, caffe::Solver<float>* solver, int solvers);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_TRAINING_REPORT_HPP_
