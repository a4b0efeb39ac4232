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

/// How std::async does something beside what else is done, or, where no more threads can be had,
/// once it is asked for.
inline constexpr auto kBeside = std::launch::async | std::launch::deferred;

/// Neither device nor host bytes are more than the budget has.
bool Within(const layrub::Budget& budget, const caffe::SolverPlans& plans);

/// What the strategies do with the same nets. The plan of a strategy that does not look at its
/// budget is made once. Graphs and options must outlive it.
class StrategyPlans {
 public:
  StrategyPlans(const caffe::SolverGraphs& graphs, const caffe::PlacementOptions& options)
      : graphs_(graphs), options_(options) {}

  /// Begins to look for what Smallest(strategy) tells, beside what else is done.
  void BeginSmallest(const std::string& strategy);
  /// Finds out what Smallest tells of every strategy, on all processors, and calls `found`, on any
  /// thread, after each. From then on the functions below may be called by several threads.
  void FindSmallest(const std::function<void()>& found);

  /// Whatever the budget says: as PlanNets with the smallest budget that the strategy can do with.
  const layrub::Result<caffe::SolverPlans>& Smallest(const std::string& strategy);

  /// Where the plan does not fit, PlanNets tries all strategies for its message: ask CanFit first
  /// where that does not matter.
  layrub::Result<caffe::SolverPlans> WithinBudget(const std::string& strategy,
                                                  const layrub::Budget& budget);

  /// The smallest device budget of plans that are within the host's. None if none is known.
  std::optional<int64_t> SmallestBytes(const std::string& strategy);

  /// The smallest plans of the strategy are within the budget.
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
