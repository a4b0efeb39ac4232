#ifndef LAYRUB_PLACEMENT_POLICIES_TRIAL_HPP_
#define LAYRUB_PLACEMENT_POLICIES_TRIAL_HPP_

#include <cstdint>
#include <utility>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::policies {

/// Tries decisions one after the other: each is scheduled and packed, and held to a budget.
class Trial {
 public:
  /// Refers to `graph`.
  Trial(const Graph& graph, const Budget& budget);

  /// Whether the plan of `decision` fits. A decision that cannot be scheduled at all counts as
  /// fitting, so that the one who plans it says why.
  bool Fits(Decision decision);
  /// Bytes of the device by which the decision tried last misses the budget; 0: it does not.
  int64_t device_excess() const { return last_.first; }
  bool found() const { return best_excess_ == Excess{}; }
  /// The last decision that fits; if none does, the one that misses the device by the fewest bytes,
  /// and host memory and the file by the fewest among equals.
  Decision Best() { return std::move(best_); }

 private:
  using Excess = std::pair<int64_t, int64_t>;  ///< bytes over the budget: device, others

  const Graph& graph_;
  const Budget budget_;
  Excess last_;
  Excess best_excess_;
  Decision best_;
};

/// Bytes of the device that a plan may take.
int64_t DeviceBytes(const Budget& budget);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_TRIAL_HPP_
