#ifndef TOOLS_LAYRUB_STRATEGY_PLANS_HPP_
#define TOOLS_LAYRUB_STRATEGY_PLANS_HPP_

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>

#include "caffe/solver_plans.hpp"
#include "layrub/base/status.hpp"

namespace layrub_tool {

/// Launch policy of std::async: in a new thread or, if no thread can be started, when the result is
/// asked for.
inline constexpr auto kAsyncIfPossible = std::launch::async | std::launch::deferred;

/// Whether the plans exceed neither the device nor the host budget.
bool Within(const layrub::Budget& budget, const caffe::SolverPlans& plans);

/// `options` with the default strategy, for the bounds of all strategies: no plan of any strategy
/// has a lower floor.
caffe::PlacementOptions WithAnyStrategy(caffe::PlacementOptions options);

/// Plans of all strategies for the same nets. The plan of a strategy that does not use its budget
/// is made only once. Graphs and options must outlive the object.
class StrategyPlans {
 public:
  StrategyPlans(const caffe::SolverGraphs& graphs, const caffe::PlacementOptions& options)
      : graphs_(graphs), options_(options) {}

  /// Begins to compute Smallest(strategy) in the background.
  void BeginSmallest(const std::string& strategy);
  /// Computes Smallest for every strategy, on all processors, and calls `found` after each, on any
  /// thread. After it returns, several threads may call the functions below.
  void FindSmallest(const std::function<void()>& found);

  /// The strategy's plans with the fewest device bytes (SmallestPlans), whatever the budget.
  const layrub::Result<caffe::SolverPlans>& Smallest(const std::string& strategy);

  /// The strategy's plans within `budget`, as PlanNets. If they do not fit, PlanNets tries all
  /// strategies for its message: call CanFit first if the message is not needed.
  layrub::Result<caffe::SolverPlans> WithinBudget(const std::string& strategy,
                                                  const layrub::Budget& budget);

  /// The smallest device budget of plans that are within the host's limit; none if none is known.
  std::optional<int64_t> SmallestBytes(const std::string& strategy);

  /// Whether the strategy's smallest plans are within the budget.
  bool CanFit(const std::string& strategy, const layrub::Budget& budget);

 private:
  caffe::PlacementOptions For(const std::string& strategy) const;

  const caffe::SolverGraphs& graphs_;
  const caffe::PlacementOptions& options_;
  std::map<std::string, layrub::Result<caffe::SolverPlans>> smallest_;
  std::map<std::string, std::future<layrub::Result<caffe::SolverPlans>>> begun_;
};

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_STRATEGY_PLANS_HPP_
