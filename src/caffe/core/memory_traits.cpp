#include "caffe/memory_traits.hpp"

#include <algorithm>

#include "layrub/base/algorithm_cost.hpp"

namespace caffe {

std::vector<Algorithm> Algorithms(const OperandVariant& variant) {
  if (!variant.algorithms.empty()) return variant.algorithms;
  if (variant.workspace_bytes == 0) return {};
  return {Algorithm{"", variant.workspace_bytes}};
}

Algorithm DirectAlgorithm(const OperandVariant& variant) {
  std::vector<Algorithm> choices = Algorithms(variant);
  if (choices.empty()) return {};
  std::vector<layrub::AlgorithmCost> costs;
  for (const Algorithm& choice : choices)
    costs.push_back({choice.bytes, choice.seconds, choice.deterministic});
  return choices[std::max(layrub::DefaultAlgorithm(costs), 0)];
}

}  // namespace caffe
