#ifndef LAYRUB_PLACEMENT_POLICIES_POLICIES_HPP_
#define LAYRUB_PLACEMENT_POLICIES_POLICIES_HPP_

#include <span>

#include "layrub/base/status.hpp"
#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::policies {

/// A strategy that follows a rule. search/auto.hpp has the strategy that searches.
struct Policy {
  const char* name;
  /// A pure function. If none of the strategy's programs fits the budget, returns the one that
  /// needs the fewest bytes.
  Result<Program> (*decide)(const Graph&, const Machine&, const Budget&);
  bool keeps_what_fits = false;  ///< see KeepsWhatFits
  bool uses_budget = false;      ///< see UsesBudget
};
/// All policies, in the order in which messages and tools list them.
std::span<const Policy> Policies();

// One function for each, in the file of its name; the static ones of vDNN in vdnn.cpp.
Result<Program> Keep(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> Liveness(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> Intra(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> Inter(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> Hybrid(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> Sqrt(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> VdnnAll(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> VdnnAllFast(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> VdnnConv(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> VdnnConvFast(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> VdnnDyn(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Program> SuperNeurons(const Graph& graph, const Machine& machine, const Budget& budget);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_POLICIES_HPP_
