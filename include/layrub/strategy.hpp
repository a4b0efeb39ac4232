#ifndef LAYRUB_STRATEGY_HPP_
#define LAYRUB_STRATEGY_HPP_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "layrub/comparable.hpp"
#include "layrub/graph.hpp"
#include "layrub/machine.hpp"
#include "layrub/plan.hpp"
#include "layrub/status.hpp"

namespace layrub {

/// Bytes a plan may use. Unlimited by default.
struct Budget {
  int64_t device = std::numeric_limits<int64_t>::max();
  int64_t host = std::numeric_limits<int64_t>::max();
};

/// A stretch between two uses of a tensor in which it is away from the device. Uses are the
/// operations that read or write it under the chosen forms.
struct Gap {
  OpId after = kNone;  ///< the last use before the gap; the copy to the host is issued right after
                       ///< it (once per value)
  OpId release =
      kNone;  ///< after <= release < before: the device range is freed after this operation
  OpId prefetch = kNone;  ///< release < prefetch <= before: range allocated and copy issued just
                          ///< before this operation
  OpId before = kNone;    ///< the first use after the gap
  LAYRUB_COMPARABLE(Gap)
};

struct TensorDecision {
  /// Resident for the whole iteration, from its first operation to the end; otherwise from first to
  /// last use.
  bool whole = false;
  std::vector<Gap> gaps;  ///< in order; empty when `whole`
};

struct OpDecision {
  int32_t form = 0;
  int32_t scratch = 0;
  /// A subset of the form's may_alias. The input's value is not needed on the device after this
  /// operation: it is its last use, or a gap whose host copy exists begins here.
  std::vector<AliasPair> aliases;
};

/// What happens to each tensor; the scheduler says when and the packer where. A strategy returns
/// one of these and never writes steps, so that validity stays in one place.
struct Decision {
  std::vector<OpDecision> ops;          ///< one per Graph::ops
  std::vector<TensorDecision> tensors;  ///< one per Graph::tensors
};

/// Graph x Machine x Budget -> Decision. Pure.
using Strategy = Result<Decision> (*)(const Graph&, const Machine&, const Budget&);

/// The strategy called `name`, or kInvalid listing the names there are.
Result<Strategy> FindStrategy(const std::string& name);
std::vector<std::string> StrategyNames();

/// Decision -> steps with offsets and waits. kInvalid names the operation and tensor for which the
/// decision asks something impossible. Emits no Wait that is implied by the others. `padding` bytes
/// are left between ranges.
Result<Plan> Schedule(const Graph& graph, const Decision& decision, int64_t padding = 0);

/// Everything in one call: decide, schedule, pack. kDoesNotFit carries a sentence that names the
/// operation at the peak, the bytes needed, the flag to paste (--device_memory=<n>) and the
/// strategies that do fit.
Result<Plan> MakePlan(const Graph& graph, const Machine& machine, const Budget& budget,
                      const std::string& strategy, int64_t padding = 0);

}  // namespace layrub

#endif  // LAYRUB_STRATEGY_HPP_
