#ifndef LAYRUB_PLACEMENT_CHECK_CHECK_HPP_
#define LAYRUB_PLACEMENT_CHECK_CHECK_HPP_

#include <string>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Proves a plan, or lists what is wrong with it, a sentence each (step number, kind, tensor,
/// operation); empty means proved. Shares no code with the scheduler: it executes the plan
/// symbolically (which value does each byte range hold?) under the partial order given by lanes and
/// Waits.
///
/// Proved are: every operation of the graph runs exactly once, in graph order, in an existing form
/// and scratch variant; recomputations are of repeatable forward operations that have run, find
/// what those found and set no tensor back; every value read is in place and was written (or
/// copied) by a step that is ordered before the reader, all bytes of it; no two live tensors share
/// bytes unless an Alias step that the form allows put them there; conflicting accesses of the same
/// bytes by different lanes are ordered; nothing is touched after its Free; what a tensor has of a
/// range is one run of bytes; a Copy within the device takes a tensor that is alone in its range,
/// with its value, to bytes that are in no other live range; ranges are aligned, inside their arena
/// and within the budget; state tensors have homes, and are neither moved nor freed there;
/// exactly Plan::readable is left over and holds its value; tensors marked keep are readable;
/// pass_end cuts the steps where the passes end.
std::vector<std::string> Check(const Graph& graph, const Plan& plan,
                               const Budget& budget = kNoBounds);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_CHECK_CHECK_HPP_
