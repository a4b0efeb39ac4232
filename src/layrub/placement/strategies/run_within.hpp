#ifndef LAYRUB_PLACEMENT_STRATEGIES_RUN_WITHIN_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_RUN_WITHIN_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"
#include "layrub/placement/strategies/frugal_forms.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// How RunWithin weighs what it does.
struct Thrift {
  int64_t room = 0;      ///< bytes of the device for what is not persistent
  int64_t headroom = 0;  ///< of these, bytes that only copies back take that come early
  double price = 0;      ///< what a second of the link counts where no operation waits for it
  double haste = 1;  ///< exponent of the time until a tensor is needed again, 0 to 1: how much that
                     ///< counts besides what it costs to bring the tensor back
};

/// What earlier attempts have cost, by tensor; empty: there was none.
struct Lessons {
  /// Seconds that bringing it back has taken RunWithin, by its own clock; negative: not known.
  std::vector<double> returns;
  /// Seconds for which operations waited for its copies when the plan was simulated.
  std::vector<double> stalls;

  /// Takes in what StallsByTensor says of another plan.
  void Add(const std::vector<double>& plan_stalls);
};

/// Goes through the operations of `start` on a device with little room. What lacks at an operation
/// comes back just before it: over the link or, where that takes less, computed again, which may
/// bring back what that needs in turn. When room lacks, the tensor leaves whose return costs the
/// least for its bytes and for the time until then; an output may also lie on an operand that is
/// needed later. Source: Kirisame et al., "Dynamic Tensor Rematerialization" (ICLR 2021), sections
/// 2 and 4; here the future is known, and copies are a second way back. Copies back are then issued
/// as early as the link needs them and the room allows.
///
/// `lessons` is used, and updated by the own clock's part: with what a first attempt has taught, a
/// second one chooses better.
/// Nothing if too much would run again or the search takes too long.
std::optional<Decision> RunWithin(const Graph& graph, const Machine& machine, const Start& start,
                                  const Thrift& thrift, Lessons* lessons);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_RUN_WITHIN_HPP_
