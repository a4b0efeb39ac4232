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

/// The time, in seconds, of something that never happens.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// When one step runs on its lane, in seconds from the start of the iteration.
struct Span {
  int32_t step = kNone;  ///< index into Plan::steps
  Lane lane = Lane::kCompute;
  double begin = 0;
  double end = 0;
};

/// What the simulator predicts and what the executor records. They have the same type, so that they
/// can be overlaid.
struct Timeline {
  std::vector<Span> spans;  ///< in plan order
  double seconds = 0;       ///< from first begin to last end, stalls of the compute lane included
  double stalled = 0;       ///< time the compute lane waited for a copy
};

/// Returns the seconds that `op` takes in variant `variant`, by number `algorithm` of its
/// algorithms, while no copy runs. This is the first of these that is known:
///
/// - what `machine` has measured for this variant and algorithm;
/// - what it has measured for another algorithm or another variant, in proportion to the estimates;
/// - the estimate: the algorithm's own seconds if it has any, else max(flops / rate, bytes /
///   bandwidth, exchanged / device_link) + latency.
///
/// A Feed takes 0: its time is that of a copy.
double OpSeconds(const Op& op, int32_t variant, int32_t algorithm, const Machine& machine);
/// Returns the bytes a second that `lane`, not the compute lane, copies while nothing else runs.
double CopyRate(Lane lane, const Machine& machine);
/// Returns the seconds that it takes to move `bytes` within the device to an address `distance`
/// bytes higher or lower. If the two ranges overlap, they move in pieces of `distance` bytes, with
/// a latency each.
double MoveSeconds(int64_t bytes, int64_t distance, const Machine& machine);
/// Returns, by step of `plan`, how far a Move takes its tensor, in bytes; 0 for other steps.
std::vector<int64_t> MoveDistances(const Graph& graph, const Plan& plan);
/// Returns, by step of `plan`, the bytes that an operation reads in host memory and writes there
/// (Tensor::host_access); 0 for other steps. Both go over the link.
std::vector<int64_t> HostAccessBytes(const Graph& graph, const Plan& plan);
/// Returns the key in Machine::measured of `variant` with its algorithm `algorithm`: the variant's
/// name, followed by a slash and the algorithm's name if that has one.
std::string MeasuredName(const Variant& variant, int32_t algorithm);

/// Runs `plan` on the cost model of `machine`. An operation takes OpSeconds, a copy bytes / link +
/// latency; both directions of the link at once share link_both. Each takes longer while the other
/// kind runs (Machine::compute_while_copying, copy_while_computing). Lanes wait as the Wait steps
/// say. If lanes wait for one another forever, the result takes kNever.
Timeline Simulate(const Graph& graph, const Plan& plan, const Machine& machine);

/// Returns a lower bound on the seconds of an iteration within `budget` device bytes, from the
/// graph alone. Of the forward values that backward operations need (in each of their variants), as
/// many bytes stay as the budget leaves beside the state tensors. With `offload_state`, state may
/// leave, so that at least min(budget, FloorBytes) bytes stay. The rest goes over the link, down in
/// the forward and up in the backward pass, or is recomputed in the backward pass, whichever takes
/// less. What a recomputation reads is resident, comes over the link or is recomputed in turn
/// (bounds/recompute_costs.hpp). Each pass takes at least as long as its operations, and as long as
/// its copies.
double TimeFloor(const Graph& graph, const Machine& machine, int64_t budget,
                 bool offload_state = false);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_TIMELINE_HPP_
