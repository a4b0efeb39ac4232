#ifndef TOOLS_LAYRUB_REPORT_PAGE_DATA_HPP_
#define TOOLS_LAYRUB_REPORT_PAGE_DATA_HPP_

#include <nlohmann/json.hpp>
#include <set>

#include "layrub/report/report.hpp"
#include "layrub/report/stays.hpp"

namespace layrub_tool {

/// What the page of a report is about, once: docs/report.md says what the keys hold. `stays` are
/// those of the input's plan.
nlohmann::ordered_json PageData(const ReportInput& input, const Stays& stays,
                                const std::set<layrub::TensorId>& shown);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_PAGE_DATA_HPP_
