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
  /// Part of an iteration: what has to come back within about that time anyway counts little when
  /// an operation that runs again needs it; 0: all counts.
  double foresight = 0;
  bool saves_count = false;  ///< see LinkClock
};

/// An operation during which another one ran again and read a tensor.
struct Need {
  TensorId tensor = kNone;
  OpId op = kNone;
};

/// What RunWithin has found.
struct Frugal {
  Decision decision;
  std::vector<Need> needs;  ///< of this decision, in the order of their operations
};

/// Goes through the operations of `start` on a device with little room. What lacks at an operation
/// comes back just before it: over the link or, where that takes less by LinkClock, computed again,
/// which may bring back what that needs in turn. When room lacks, the tensor leaves whose return
/// costs the least for its bytes and for the time until then; an output may also lie on an operand
/// that is needed later. What only operations that run again need is given up as soon as the others
/// are done with it, unless that need is `expected`, by an earlier attempt. The decision says what
/// is away when, but holds no range until a copy has ended and issues none early (see Settle), and
/// an output lies only on an operand that is needed later and has a copy. Source: Kirisame et al.,
/// "Dynamic Tensor Rematerialization" (ICLR 2021), sections 2 and 4; here the future is known, and
/// copies are a second way back.
///
/// Nothing if too much would run again or the search takes too long.
std::optional<Frugal> RunWithin(const Graph& graph, const Machine& machine, const Start& start,
                                const Thrift& thrift, const std::vector<Need>& expected);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_RUN_WITHIN_HPP_
