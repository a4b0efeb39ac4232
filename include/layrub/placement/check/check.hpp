#ifndef LAYRUB_PLACEMENT_CHECK_CHECK_HPP_
#define LAYRUB_PLACEMENT_CHECK_CHECK_HPP_

#include <string>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Proves a plan, or returns what is wrong with it, one sentence each (step number, kind, tensor,
/// operation). An empty result means that the plan is proved. Shares no code with the scheduler: it
/// executes the plan symbolically (which value does each byte range hold?) under the partial order
/// given by lanes and Waits.
///
/// It proves that:
///
/// - every operation of the graph runs exactly once, in graph order, in an existing variant and by
///   an existing algorithm;
/// - every recomputation is of a repeatable forward operation that has run, finds the same operand
///   values as the first run, and gives no tensor an older value;
/// - every value read is on the device, or in host memory if the operation can use it there, all
///   bytes of it, and was written (or copied) by a step that is ordered before the reader;
/// - no two live tensors share bytes unless an Alias step that the variant allows put them there;
/// - conflicting accesses of the same bytes by different lanes are ordered;
/// - nothing is touched after its Free, and the bytes that a tensor has of a range are contiguous;
/// - a Copy within the device moves a tensor that is alone in its range, with its value, to bytes
///   that are in no other live range;
/// - ranges are aligned, inside their arena and within the budget;
/// - state tensors have homes, and are neither moved nor freed there;
/// - exactly Plan::readable is left over and holds its values, and tensors marked keep are
///   readable;
/// - pass_end cuts the steps where the passes end.
std::vector<std::string> Check(const Graph& graph, const Plan& plan,
                               const Budget& budget = kUnlimitedBudget);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_CHECK_CHECK_HPP_
