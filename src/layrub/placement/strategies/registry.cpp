#include <algorithm>
#include <utility>

#include "layrub/base/text.hpp"
#include "layrub/placement/search/auto.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace layrub {
namespace {

constexpr const char* kAuto = "auto";

/// Returns null if there is no policy of this name.
const placement::policies::Policy* FindPolicy(const std::string& name) {
  const auto policies = placement::policies::Policies();
  const auto found = std::find_if(policies.begin(), policies.end(),
                                  [&](const auto& policy) { return name == policy.name; });
  return found == policies.end() ? nullptr : &*found;
}

}  // namespace

namespace placement::strategies {

Result<Strategy> FindStrategy(const std::string& name, const SearchOptions& options) {
  if (name == kAuto) {
    return Strategy([options](const Graph& graph, const Machine& machine, const Budget& budget) {
      return search::Auto(graph, machine, budget, options);
    });
  }
  if (const policies::Policy* policy = FindPolicy(name)) {
    return Strategy([policy](const Graph& graph, const Machine& machine,
                             const Budget& budget) -> Result<schedule::Choice> {
      Result<Program> program = policy->decide(graph, machine, budget);
      if (!program.ok()) return program.status();
      return schedule::Choice{
          std::move(program.value()), {.host_bytes = pack::HostBytes(budget)}, {}};
    });
  }
  return Status::Invalid("there is no placement strategy '" + name + "'; there are " +
                         Join(StrategyNames(), ", "));
}

}  // namespace placement::strategies

Status CheckStrategy(const std::string& name) {
  const auto found = placement::strategies::FindStrategy(name);
  return found.ok() ? Status::Ok() : found.status();
}

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (const auto& policy : placement::policies::Policies()) names.push_back(policy.name);
  names.push_back(kAuto);
  return names;
}

bool UsesBudget(const std::string& name) {
  const auto* policy = FindPolicy(name);
  return name == kAuto || (policy != nullptr && policy->uses_budget);
}

bool UsesCosts(const std::string& name) { return name == kAuto; }

bool KeepsWhatFits(const std::string& name) {
  const auto* policy = FindPolicy(name);
  return name == kAuto || (policy != nullptr && policy->keeps_what_fits);
}

}  // namespace layrub
