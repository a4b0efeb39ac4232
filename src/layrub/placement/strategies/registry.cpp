#include <algorithm>
#include <array>

#include "layrub/base/text.hpp"
#include "layrub/placement/strategies/strategies.hpp"

namespace layrub {
namespace {

struct Entry {
  const char* name;
  Strategy strategy;
  bool keeps_what_fits = false;
  bool uses_budget = false;
  bool uses_costs = false;
};

constexpr std::array<Entry, 13> kStrategies{{
    {"keep", Keep, true},
    {"liveness", Liveness},
    {"intra", Intra},
    {"inter", Inter},
    {"hybrid", Hybrid},
    {"sqrt", Sqrt},
    {"vdnn_all", VdnnAll},
    {"vdnn_all_fast", VdnnAllFast},
    {"vdnn_conv", VdnnConv},
    {"vdnn_conv_fast", VdnnConvFast},
    {.name = "vdnn_dyn", .strategy = VdnnDyn, .uses_budget = true},
    {.name = "superneurons", .strategy = SuperNeurons, .uses_budget = true},
    {"auto", Auto, true, true, true},
}};

/// Null when there is none of this name.
const Entry* Find(const std::string& name) {
  const auto* found = std::find_if(kStrategies.begin(), kStrategies.end(),
                                   [&](const Entry& entry) { return name == entry.name; });
  return found == kStrategies.end() ? nullptr : found;
}

}  // namespace

Result<Strategy> FindStrategy(const std::string& name) {
  if (const Entry* entry = Find(name)) return entry->strategy;
  return Status::Invalid("there is no placement strategy '" + name + "'; there are " +
                         Join(StrategyNames(), ", "));
}

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kStrategies) names.push_back(entry.name);
  return names;
}

bool UsesBudget(const std::string& name) {
  const Entry* entry = Find(name);
  return entry != nullptr && entry->uses_budget;
}

bool UsesCosts(const std::string& name) {
  const Entry* entry = Find(name);
  return entry != nullptr && entry->uses_costs;
}

bool KeepsWhatFits(const std::string& name) {
  const Entry* entry = Find(name);
  return entry != nullptr && entry->keeps_what_fits;
}

}  // namespace layrub
