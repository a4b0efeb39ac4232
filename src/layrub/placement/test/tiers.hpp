#ifndef LAYRUB_PLACEMENT_TEST_TIERS_HPP_
#define LAYRUB_PLACEMENT_TEST_TIERS_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

namespace layrub::testing {

/// How much a test tries (docs/testing.md): everything, unless the environment says otherwise.

/// The number of random examples for tests of which each change tries only a few; 0: those few.
inline int LongExamples() {
  const char* const wanted = std::getenv("LAYRUB_LONG_TESTS");
  return wanted ? std::max(1, std::atoi(wanted)) : 0;
}

/// Whether a sample is enough, as the nightly tier tries everything.
inline bool Sampled() { return std::getenv("LAYRUB_SAMPLE") != nullptr; }

/// Every net with every strategy. If sampled: as few pairs as contain every net and every strategy.
inline std::vector<std::tuple<std::string, std::string>> Pairs(
    const std::vector<std::string>& nets, const std::vector<std::string>& strategies) {
  std::vector<std::tuple<std::string, std::string>> pairs;
  if (Sampled()) {
    for (size_t i = 0; i < std::max(nets.size(), strategies.size()); ++i)
      pairs.emplace_back(nets[i % nets.size()], strategies[i % strategies.size()]);
    return pairs;
  }
  for (const std::string& net : nets) {
    for (const std::string& strategy : strategies) pairs.emplace_back(net, strategy);
  }
  return pairs;
}

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_TIERS_HPP_
