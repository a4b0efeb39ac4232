#ifndef TOOLS_LAYRUB_REPORT_TRACE_HPP_
#define TOOLS_LAYRUB_REPORT_TRACE_HPP_

#include <string>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub_tool {

/// One iteration under `plan` in Chrome's trace event format, which Perfetto reads: a process for
/// what is predicted and, unless `measured` is null, one for what was measured. Each has a thread
/// for each lane, feeds apart from the other loads, and counters of live bytes of the device, the
/// host and the file. Both timelines are of `plan`. docs/report.md tells what each event holds.
std::string TraceJson(const layrub::Graph& graph, const layrub::Plan& plan,
                      const layrub::Timeline& predicted, const layrub::Timeline* measured);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_TRACE_HPP_
