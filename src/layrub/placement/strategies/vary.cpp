#include "layrub/placement/strategies/vary.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace layrub {
namespace {

constexpr int kMostChanges = 3;
constexpr double kHeavier = 2;       ///< times
constexpr double kTollOfCopy = 0.5;  ///< of the seconds that a copy takes

double Part(std::mt19937* random) {
  return static_cast<double>((*random)()) / (static_cast<double>(std::mt19937::max()) + 1);
}

}  // namespace

Lessons Vary(const Graph& graph, const Machine& machine, const std::vector<double>& returns,
             Lessons lessons, std::mt19937* random) {
  std::vector<double> up_to(returns.size());
  std::partial_sum(returns.begin(), returns.end(), up_to.begin());
  if (up_to.empty() || up_to.back() <= 0) return lessons;
  lessons.weights.resize(returns.size(), 1);
  lessons.tolls.resize(returns.size(), 0);
  const auto changes = 1 + (*random)() % kMostChanges;
  for (size_t i = 0; i < changes; ++i) {
    const auto chosen =
        std::upper_bound(up_to.begin(), up_to.end() - 1, Part(random) * up_to.back());
    const auto t = static_cast<size_t>(chosen - up_to.begin());
    const double toll = kTollOfCopy * static_cast<double>(graph.tensors[t].bytes) / machine.link_up;
    switch ((*random)() % 4) {
      case 0:
        lessons.weights[t] *= kHeavier;
        break;
      case 1:
        lessons.weights[t] /= kHeavier;
        break;
      case 2:
        lessons.tolls[t] += toll;
        break;
      default:
        lessons.tolls[t] -= toll;
    }
  }
  return lessons;
}

}  // namespace layrub
