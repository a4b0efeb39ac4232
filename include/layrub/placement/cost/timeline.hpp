#ifndef LAYRUB_PLACEMENT_COST_TIMELINE_HPP_
#define LAYRUB_PLACEMENT_COST_TIMELINE_HPP_

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// The time, in seconds, of what does not happen.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

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
  double seconds = 0;       ///< from first begin to last end, waits of the compute lane included
  double stalled = 0;       ///< time the compute lane waited for a copy
};

/// Seconds that `op` takes in form `form` with workspace `scratch` (of the form's) while no copy
/// runs: what `machine` has measured for the form with this workspace; what it has measured for
/// another workspace or another form, in proportion of the estimates; or the estimate: what the
/// workspace says it takes, else max(flops / rate, bytes / bandwidth) + latency. 0 for a Feed,
/// whose time is that of a copy.
double OpSeconds(const Op& op, int32_t form, int32_t scratch, const Machine& machine);
/// Bytes a second that `lane`, which is not the compute lane, copies with nothing beside it.
double CopyRate(Lane lane, const Machine& machine);
/// Seconds that copying `bytes` within the device to where they begin `distance` bytes higher or
/// lower takes. Where the two ranges overlap, they go in pieces of `distance` bytes, a latency
/// each.
double MoveSeconds(int64_t bytes, int64_t distance, const Machine& machine);
/// By step of `plan`: how far a Move takes its tensor, in bytes; 0 for other steps.
std::vector<int64_t> MoveDistances(const Graph& graph, const Plan& plan);
/// The key in Machine::measured of `form` with its workspace `scratch`: the form's name, followed
/// by a slash and the workspace's where that has one.
std::string MeasuredName(const Form& form, int32_t scratch);

/// Runs `plan` on the cost model of `machine`: an operation takes OpSeconds, a copy bytes / link +
/// latency (both directions of the link at once share link_both), each more while the other kind
/// runs (Machine::compute_while_copying, copy_while_computing); lanes wait as the Wait steps say.
/// Where they wait for one another, it takes kNever.
Timeline Simulate(const Graph& graph, const Plan& plan, const Machine& machine);

/// A bound from below on the seconds of an iteration within `budget` device bytes, from the graph
/// alone. Of what backward operations need of the forward pass (in each of their forms), as much as
/// the budget leaves beside the state tensors stays; with
/// `offload_state`, below FloorBytes, where state leaves, as much as the budget. The rest goes over
/// the link, down in the forward and up in the backward pass, or is computed again in the backward
/// pass, whichever takes less; what computing again reads is there, comes over the link or is
/// computed again in turn (bounds/making_again.hpp). Each pass takes at least as long as its
/// operations, and as long as its copies.
double TimeFloor(const Graph& graph, const Machine& machine, int64_t budget,
                 bool offload_state = false);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_TIMELINE_HPP_
