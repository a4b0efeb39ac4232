#ifndef TOOLS_LAYRUB_REPORT_PAGE_DATA_HPP_
#define TOOLS_LAYRUB_REPORT_PAGE_DATA_HPP_

#include <nlohmann/json.hpp>
#include <set>

#include "layrub/report/report.hpp"
#include "layrub/report/stays.hpp"

namespace layrub_tool {

/// The data that the page of a report shows. docs/report.md documents the keys. `stays` are those
/// of the input's plan; the page can point at the tensors in `shown`.
nlohmann::ordered_json PageData(const ReportInput& input, const Stays& stays,
                                const std::set<layrub::TensorId>& shown);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_PAGE_DATA_HPP_
