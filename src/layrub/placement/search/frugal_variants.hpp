#ifndef LAYRUB_PLACEMENT_SEARCH_FRUGAL_VARIANTS_HPP_
#define LAYRUB_PLACEMENT_SEARCH_FRUGAL_VARIANTS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::search {

/// The program from which candidates start, which chooses variants and algorithms, and what
/// follows from it.
struct Start {
  Program program;
  UseLists uses;
  std::vector<OpId> producers;  ///< see ProducersOfUnkept
};

/// DefaultProgram with each operation in the variant for which forward keeps the fewest additional
/// bytes for backward, among the variants that take at most `most` bytes themselves; if there is
/// none, in the smallest variant. If a variant reads tensors that its forward saves for it, the
/// bytes of that forward count, too.
Start InFrugalVariants(const Graph& graph, int64_t most);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_FRUGAL_VARIANTS_HPP_
