#include <array>

#include "layrub/base/text.hpp"
#include "layrub/placement/strategies/strategies.hpp"

namespace layrub {
namespace {

struct Entry {
  const char* name;
  Strategy strategy;
};

constexpr std::array<Entry, 6> kStrategies{{
    {"keep", Keep},
    {"liveness", Liveness},
    {"intra", Intra},
    {"inter", Inter},
    {"hybrid", Hybrid},
    {"sqrt", Sqrt},
}};

}  // namespace

Result<Strategy> FindStrategy(const std::string& name) {
  for (const Entry& entry : kStrategies) {
    if (name == entry.name) return entry.strategy;
  }
  return Status::Invalid("there is no placement strategy '" + name + "'; there are " +
                         Join(StrategyNames(), ", "));
}

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kStrategies) names.push_back(entry.name);
  return names;
}

}  // namespace layrub
