#include "layrub/placement/strategies/trial.hpp"

#include <algorithm>
#include <limits>

namespace layrub {

int64_t DeviceBytes(const Budget& budget) { return budget.device - budget.reserved; }

Trial::Trial(const Graph& graph, const Budget& budget)
    : graph_(graph), budget_(budget), best_excess_(std::numeric_limits<int64_t>::max(), 0) {}

bool Trial::Fits(Decision decision) {
  const Result<Plan> plan = Schedule(graph_, decision);
  last_ = {};
  if (plan.ok()) {
    last_.first = std::max<int64_t>(plan.value().device_bytes - DeviceBytes(budget_), 0);
    last_.second = std::max<int64_t>(plan.value().host_bytes - budget_.host, 0);
  }
  const bool fits = last_ == Excess{};
  if (fits || last_ < best_excess_) {
    best_excess_ = last_;
    best_ = std::move(decision);
  }
  return fits;
}

}  // namespace layrub
