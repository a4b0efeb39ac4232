#ifndef TOOLS_LAYRUB_LARGEST_BATCH_HPP_
#define TOOLS_LAYRUB_LARGEST_BATCH_HPP_

#include <cstdint>
#include <optional>

#include "caffe/solver_plans.hpp"

namespace layrub_tool {

struct LargestBatch {
  /// 0: not even a batch of one fits. None: no layer has a batch size, the net allows no other
  /// batch than its own, or the search was given up.
  std::optional<int> batch;
  bool given_up = false;  ///< the search took a minute, and --largest_batch is not set
};

/// Finds the largest --batch whose plans fit into the budget of `options`. `graphs` are those of
/// the nets with their current batch; if `bytes` is not none, a plan for them takes so many bytes
/// of device memory and is within the host's limit. The first guess assumes that all but the state
/// grows in proportion to the batch. Each batch is planned in a child process, so a failure there
/// does not end this one. For a strategy that searches, each plan takes a search, so it is asked
/// for the plans of the fewest bytes only: the returned batch fits, and a batch that is 1 % larger
/// (at least one item) is known not to fit, or estimated not to from the bytes that the returned
/// one takes. With `try_harder`, plans within the budget are tried, too, and nothing is estimated.
LargestBatch FindLargestBatch(const caffe::PlacementOptions& options,
                              const caffe::SolverGraphs& graphs, std::optional<int64_t> bytes,
                              bool try_harder);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_LARGEST_BATCH_HPP_
