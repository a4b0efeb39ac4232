#ifndef TOOLS_LAYRUB_TRAINING_REPORT_HPP_
#define TOOLS_LAYRUB_TRAINING_REPORT_HPP_

#include <string>

#include "caffe/solver.hpp"
#include "layrub/report/report.hpp"

namespace layrub_tool {

/// Where the metrics of a report are.
std::string MetricsFile(const std::string& folder);

/// CheckReportFolder, and the same for the metrics.
void CheckTrainingReport(const std::string& folder);

/// For a training that begins anew: gives what another run has left of report and metrics in the
/// folder other names, or ends the program.
void PutReportAside(const std::string& folder);

/// Writes the report of a training that has ended into the folder, which has its metrics: of the
/// plan that it ended under, with the last iteration as it was measured (ExecutorOptions::record).
/// `solvers` trained together. Metrics that cannot be read are left out, with a warning. Ends the
/// program where the report cannot be written.
void WriteTrainingReport(const std::string& folder, caffe::Solver<float>* solver, int solvers);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_TRAINING_REPORT_HPP_
