#ifndef TOOLS_LAYRUB_REPORT_REPORT_HPP_
#define TOOLS_LAYRUB_REPORT_REPORT_HPP_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "layrub/placement/cost/layer_costs.hpp"
#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub_tool {

/// How the net of a report is one device's part of a net that is divided among several.
struct ReportDivision {
  int devices = 1;
  std::string partition = {};
  int64_t received_bytes = 0;  ///< by each device
  double whole_seconds = 0;    ///< on one device that holds everything
  /// By layer of the whole net: the axes along which it is divided, level by level.
  std::map<std::string, std::string> layers = {};
};

/// What a report shows. Sizes are bytes and times seconds, of one iteration of the training net.
struct ReportInput {
  const layrub::Graph* graph = nullptr;  ///< not owned
  const layrub::Plan* plan = nullptr;    ///< not owned
  layrub::Budget budget = {};
  std::string machine_name = {};  ///< the machine whose model predicted the times
  std::string net_name = {};
  bool with_tests = false;         ///< there are test nets; `total_device_bytes` includes theirs
  int64_t total_device_bytes = 0;  ///< taken by the plans of all nets
  std::string verdict = {};        ///< a sentence, shown below the title
  bool fits = true;                ///< the plan is within the budget
  int64_t keep_bytes = 0;          ///< device bytes of strategy keep, as in Caffe
  int64_t floor_bytes = 0;         ///< the least if weights and history stay and layers run whole
  int64_t state_floor_bytes = 0;   ///< no plan takes less
  std::optional<double> keep_seconds = {};
  layrub::Timeline predicted = {};
  std::optional<layrub::Timeline> measured = {};      ///< one iteration under the same plan
  std::optional<int64_t> measured_device_bytes = {};  ///< most bytes that training of all nets took
  std::optional<int64_t> items = {};           ///< after training: items per iteration, if known
  std::string items_name = {};                 ///< "images"
  std::vector<layrub::LayerCost> layers = {};  ///< of `predicted`
  std::optional<ReportDivision> division = {};
  /// The lines of metrics.jsonl; an empty array if nothing was trained.
  nlohmann::json metrics = nlohmann::json::array();
};

/// The paths of a report's files in `folder`: report.html, memory.svg, map.svg and trace.json.
std::vector<std::string> ReportFiles(const std::string& folder);

/// Makes the folder unless it exists. Ends the program if that fails or the report's files cannot
/// be written there. For use before the work that the report shows.
void CheckReportFolder(const std::string& folder);

/// Writes ReportFiles, each whole or not at all, or ends the program.
void WriteReport(const std::string& folder, const ReportInput& input);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_REPORT_HPP_
