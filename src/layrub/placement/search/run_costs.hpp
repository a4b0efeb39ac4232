#ifndef LAYRUB_PLACEMENT_SEARCH_RUN_COSTS_HPP_
#define LAYRUB_PLACEMENT_SEARCH_RUN_COSTS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/search/frugal_variants.hpp"

namespace layrub::placement::search {

/// What the operations of a Start touch and how long they take, in the variants chosen there. The
/// graph and the Start must outlive it.
class RunCosts {
 public:
  RunCosts(const Graph& graph, const Machine& machine, const Start& start);

  const Variant& VariantOf(OpId o) const {
    return graph_.ops[o].variants[start_.program.runs[o].variant];
  }
  int64_t Workspace(OpId o) const;  ///< bytes of its workspace
  double Seconds(OpId o) const { return starts_[o + 1] - starts_[o]; }

  /// When the operation begins if nothing ever waits. With the number of operations: when all have
  /// ended.
  double StartOf(OpId o) const { return starts_[o]; }
  double Total() const { return starts_.back(); }

  /// Seconds to recompute a forward operation, including all that has to be recomputed for it
  /// because backward does not read it anyway.
  double Chain(OpId o) const { return chains_[o]; }

  /// Whether a run of `variant` (a recomputation if `again`) touches bytes of `t` that are not
  /// state at home on the device.
  bool Touches(const Variant& variant, TensorId t, bool again) const;

 private:
  void FindChains();

  const Graph& graph_;
  const Start& start_;
  std::vector<bool>
      placed_;  ///< by tensor: it has bytes, and they are not state at home on the device
  std::vector<double> starts_;
  std::vector<double> chains_;
};

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_RUN_COSTS_HPP_
