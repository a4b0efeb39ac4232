#ifndef LAYRUB_PLACEMENT_COST_LAYER_COSTS_HPP_
#define LAYRUB_PLACEMENT_COST_LAYER_COSTS_HPP_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Returns the layer of an operation: "conv1" of "conv1/forward", of "conv1[0]/update", which
/// updates the first parameter of conv1, of "conv1/2of8/forward", which runs a slice of the batch,
/// and of "conv1/cut_into_8/forward" and "conv1/join_of_8/forward", which cut and join values for
/// slices.
std::string LayerOf(const Op& op);

/// What a plan does to the tensors that a layer writes (its outputs, what it saves, and the
/// gradients that its backward writes), in bytes and predicted seconds of one iteration. State
/// tensors do not count.
struct LayerCost {
  std::string layer;
  int64_t kept = 0;        ///< on the device between forward and backward
  int64_t aliased = 0;     ///< written over the bytes of another tensor
  int64_t offloaded = 0;   ///< copied to the host
  int64_t recomputed = 0;  ///< dropped and recomputed
  int64_t traffic = 0;     ///< copied in both directions
  double copying = 0;      ///< the time these copies take
  double exposed = 0;      ///< the time operations stall for them
  double again = 0;        ///< the time of the layer's recomputations

  double hidden() const { return std::max(0.0, copying - exposed); }
  double added() const { return exposed + again; }
  int64_t bytes() const { return kept + aliased + offloaded + recomputed; }
  LayerCost& operator+=(const LayerCost& other);
};

/// Returns one entry for each layer, in graph order. `timeline` is that of `plan`. A stall of the
/// compute lane is charged to the copy that it waits for last.
std::vector<LayerCost> LayerCosts(const Graph& graph, const Plan& plan, const Timeline& timeline);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_LAYER_COSTS_HPP_
