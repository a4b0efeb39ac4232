#include "layrub/base/algorithm_cost.hpp"

#include <limits>
#include <tuple>

namespace layrub {

int DefaultAlgorithm(const std::vector<AlgorithmCost>& choices) {
  const auto cost = [&](const AlgorithmCost& choice) {
    const bool known = choice.seconds > 0 && choice.bytes <= kWorkspaceCap;
    const double seconds = known ? choice.seconds : std::numeric_limits<double>::infinity();
    return std::tuple(seconds, choice.bytes);
  };
  int best = -1;
  for (int i = 0; i < static_cast<int>(choices.size()); ++i) {
    if (!choices[i].deterministic) continue;
    if (best < 0 || cost(choices[i]) < cost(choices[best])) best = i;
  }
  return best;
}

}  // namespace layrub
