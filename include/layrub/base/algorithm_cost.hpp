#ifndef LAYRUB_BASE_ALGORITHM_COST_HPP_
#define LAYRUB_BASE_ALGORITHM_COST_HPP_

#include <cstdint>
#include <vector>

namespace layrub {

/// Workspace in bytes up to which DefaultAlgorithm prefers the faster algorithm.
inline constexpr int64_t kWorkspaceCap = int64_t{64} << 20;

/// Cost of one algorithm of an operation. `bytes` is its workspace.
struct AlgorithmCost {
  int64_t bytes = 0;
  double seconds = 0;  ///< 0: unknown
  bool deterministic = true;
};

/// Returns the index of the algorithm that an operation gets if no plan weighs its bytes against
/// its time: the fastest deterministic one with a workspace of at most kWorkspaceCap bytes, and of
/// two equally fast ones the one with less workspace. If no such algorithm has a known speed,
/// returns the deterministic one with the smallest workspace. Returns -1 if none is deterministic.
int DefaultAlgorithm(const std::vector<AlgorithmCost>& choices);

}  // namespace layrub

#endif  // LAYRUB_BASE_ALGORITHM_COST_HPP_
