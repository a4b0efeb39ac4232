#ifndef LAYRUB_PLACEMENT_SEARCH_RUN_COSTS_HPP_
#define LAYRUB_PLACEMENT_SEARCH_RUN_COSTS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/search/frugal_forms.hpp"

namespace layrub::placement::search {

/// What the operations of a Start touch and take, in the forms chosen there. The graph and the
/// Start have to live as long.
class RunCosts {
 public:
  RunCosts(const Graph& graph, const Machine& machine, const Start& start);

  const Form& FormOf(OpId o) const { return graph_.ops[o].forms[start_.decision.runs[o].form]; }
  int64_t Scratch(OpId o) const;  ///< bytes of its workspace
  double Seconds(OpId o) const { return starts_[o + 1] - starts_[o]; }

  /// When it begins if nothing ever waits; the number of operations: when all has ended.
  double StartOf(OpId o) const { return starts_[o]; }
  double Total() const { return starts_.back(); }

  /// Seconds that a forward operation takes to run again with all that leads to it from what
  /// backward needs anyway.
  double Chain(OpId o) const { return chains_[o]; }

  /// Whether running a form (`again`: once more) touches the bytes of `t`, if that has any but
  /// state.
  bool Touches(const Form& form, TensorId t, bool again) const;

 private:
  void FindChains();

  const Graph& graph_;
  const Start& start_;
  std::vector<bool> placed_;  ///< by tensor: it has bytes that are not state
  std::vector<double> starts_;
  std::vector<double> chains_;
};

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_RUN_COSTS_HPP_
