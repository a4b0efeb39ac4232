#include "layrub/placement/cost/algorithm_choices.hpp"

#include <algorithm>

#include "layrub/placement/cost/fastest_algorithms.hpp"

namespace layrub {

Status KeepDeterministic(Graph* graph) {
  for (Op& op : graph->ops) {
    for (Variant& variant : op.variants) {
      if (variant.algorithms.empty()) continue;
      const int32_t granted = placement::cost::DefaultAlgorithm(*graph, variant);
      if (granted == kNone) {
        return Status::Invalid("operation " + op.name +
                               " has no deterministic algorithm in variant " + variant.name);
      }
      variant.algorithms = {variant.algorithms[granted]};
    }
  }
  return Status::Ok();
}

void KeepAlgorithm(int choice, Graph* graph) {
  for (Op& op : graph->ops) {
    for (Variant& variant : op.variants) {
      if (variant.algorithms.empty()) continue;
      variant.algorithms = {
          variant.algorithms[std::min<size_t>(choice, variant.algorithms.size() - 1)]};
    }
  }
}

int AlgorithmChoices(const Graph& graph) {
  size_t most = 0;
  for (const Op& op : graph.ops) {
    for (const Variant& variant : op.variants) most = std::max(most, variant.algorithms.size());
  }
  return static_cast<int>(most);
}

}  // namespace layrub
