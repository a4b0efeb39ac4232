#ifndef LAYRUB_PLACEMENT_POLICIES_TRIAL_HPP_
#define LAYRUB_PLACEMENT_POLICIES_TRIAL_HPP_

#include <cstdint>
#include <utility>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::policies {

/// Tries programs one after the other: schedules and packs each, and compares it with a budget.
class Trial {
 public:
  /// Keeps a reference to `graph`.
  Trial(const Graph& graph, const Budget& budget);

  /// Whether the plan of `program` fits. A program that cannot be scheduled at all counts as
  /// fitting, so that whoever plans it later reports the reason.
  bool Fits(Program program);
  /// Device bytes by which the last tried program exceeds the budget; 0 if it does not.
  int64_t device_excess() const { return last_.first; }
  bool found() const { return best_excess_ == Excess{}; }
  /// The last program that fits. If none does, the one that exceeds the device budget by the
  /// fewest bytes; of equals the one that exceeds host memory and file by the fewest.
  Program Best() { return std::move(best_); }

 private:
  using Excess = std::pair<int64_t, int64_t>;  ///< bytes over the budget: device, others

  const Graph& graph_;
  const Budget budget_;
  Excess last_;
  Excess best_excess_;
  Program best_;
};

/// Device bytes that a plan may take.
int64_t DeviceBytes(const Budget& budget);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_TRIAL_HPP_
