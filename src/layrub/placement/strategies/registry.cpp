#include <algorithm>
#include <array>

#include "layrub/base/text.hpp"
#include "layrub/placement/strategies/strategies.hpp"

namespace layrub {
namespace {

struct Entry {
  const char* name;
  Strategy strategy;
  bool uses_costs = false;
};

constexpr std::array<Entry, 11> kStrategies{{
    {"keep", Keep},
    {"liveness", Liveness},
    {"intra", Intra},
    {"inter", Inter},
    {"hybrid", Hybrid},
    {"sqrt", Sqrt},
    {"vdnn_all", VdnnAll},
    {"vdnn_conv", VdnnConv},
    {"vdnn_dyn", VdnnDyn},
    {"superneurons", SuperNeurons},
    {"auto", Auto, true},
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

bool UsesCosts(const std::string& name) {
  return std::any_of(kStrategies.begin(), kStrategies.end(),
                     [&](const Entry& entry) { return name == entry.name && entry.uses_costs; });
}

}  // namespace layrub
