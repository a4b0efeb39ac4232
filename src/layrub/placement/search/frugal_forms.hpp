#ifndef LAYRUB_PLACEMENT_SEARCH_FRUGAL_FORMS_HPP_
#define LAYRUB_PLACEMENT_SEARCH_FRUGAL_FORMS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::search {

/// What candidates start from: a decision about forms and workspaces, and what follows from it.
struct Start {
  Decision decision;
  UseLists uses;
  std::vector<OpId> producers;  ///< see ProducersOfUnkept
};

/// DefaultDecision with each operation in the form that makes forward keep the fewest more bytes
/// for backward, among those that take at most `most` bytes themselves; where none does, in the
/// smallest. What a form reads of its own forward's saved tensors counts where that forward makes
/// it, too.
Start InFrugalForms(const Graph& graph, int64_t most);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_FRUGAL_FORMS_HPP_
