#ifndef TOOLS_LAYRUB_REPORT_TRACE_HPP_
#define TOOLS_LAYRUB_REPORT_TRACE_HPP_

#include <string>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub_tool {

/// One iteration under `plan` in Chrome's trace event format, which Perfetto reads. There is a
/// process for the predicted timeline and, unless `measured` is null, one for the measured. Each
/// has a thread for each lane, one for feeds, and counters of live bytes of the device, the host
/// and the file. Both timelines must be of `plan`. docs/report.md documents the events.
std::string TraceJson(const layrub::Graph& graph, const layrub::Plan& plan,
                      const layrub::Timeline& predicted, const layrub::Timeline* measured);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_TRACE_HPP_
