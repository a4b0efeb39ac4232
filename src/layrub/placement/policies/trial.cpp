#include "layrub/placement/policies/trial.hpp"

#include <algorithm>
#include <limits>

#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/schedule/schedule.hpp"

namespace layrub::placement::policies {

int64_t DeviceBytes(const Budget& budget) { return budget.device - budget.reserved; }

Trial::Trial(const Graph& graph, const Budget& budget)
    : graph_(graph), budget_(budget), best_excess_(std::numeric_limits<int64_t>::max(), 0) {}

bool Trial::Fits(Program program) {
  const pack::Options options{.host_bytes = pack::HostBytes(budget_)};
  const Result<Lifetimes> lives = FindLifetimes(graph_, program, options.host_bytes);
  last_ = {};
  if (lives.ok()) {
    const Plan plan = schedule::PackSteps(graph_, program, lives.value(), options);
    last_.first = std::max<int64_t>(plan.device_bytes - DeviceBytes(budget_), 0);
    last_.second = std::max<int64_t>(plan.host_bytes - budget_.host, 0) +
                   std::max<int64_t>(plan.spill_bytes - budget_.spill, 0);
  }
  const bool fits = last_ == Excess{};
  if (fits || last_ < best_excess_) {
    best_excess_ = last_;
    best_ = std::move(program);
  }
  return fits;
}

}  // namespace layrub::placement::policies
