#ifndef LAYRUB_PLACEMENT_STRATEGIES_FRUGAL_FORMS_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_FRUGAL_FORMS_HPP_

#include <cstdint>

#include "layrub/graph.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// DefaultDecision with each operation in the form that makes forward keep the fewest more bytes
/// for backward, among those that take at most `most` bytes themselves; where none does, in the
/// smallest. What a form reads of its own forward's saved tensors counts where that forward makes
/// it, too.
Decision InFrugalForms(const Graph& graph, int64_t most);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_FRUGAL_FORMS_HPP_
