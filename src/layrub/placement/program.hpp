#ifndef LAYRUB_PLACEMENT_PROGRAM_HPP_
#define LAYRUB_PLACEMENT_PROGRAM_HPP_

#include <vector>

#include "layrub/graph.hpp"
#include "layrub/status.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// Ok if `runs` is a program for `graph` as Decision::runs demands, aliases aside; otherwise
/// kInvalid naming the operation and what is wrong with its run.
Status CheckProgram(const Graph& graph, const std::vector<Run>& runs);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_PROGRAM_HPP_
