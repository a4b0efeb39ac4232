#ifndef LAYRUB_TIMELINE_HPP_
#define LAYRUB_TIMELINE_HPP_

#include <array>
#include <cstdint>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"
#include "layrub/plan.hpp"

namespace layrub {

/// One step's stay on its lane, in seconds from the start of the iteration.
struct Span {
  int32_t step = kNone;  ///< index into Plan::steps
  Lane lane = Lane::kCompute;
  double begin = 0;
  double end = 0;
};

/// What the simulator predicts and what the executor records: the same type, so that the two
/// overlay.
struct Timeline {
  std::vector<Span> spans;  ///< in plan order
  double seconds = 0;       ///< from first begin to last end
  double stalled = 0;       ///< time the compute lane waited for a copy
};

/// Runs `plan` on the cost model of `machine`: an operation takes max(flops / rate, bytes /
/// bandwidth) + latency, a copy bytes / link + latency (both directions at once share link_both);
/// lanes wait as the Wait steps say.
Timeline Simulate(const Graph& graph, const Plan& plan, const Machine& machine);

}  // namespace layrub

#endif  // LAYRUB_TIMELINE_HPP_
