#ifndef TOOLS_LAYRUB_LARGEST_BATCH_HPP_
#define TOOLS_LAYRUB_LARGEST_BATCH_HPP_

#include <cstdint>
#include <optional>

#include "caffe/solver_plans.hpp"

namespace layrub_tool {

struct LargestBatch {
  /// 0: not even one. None when there is none to find: no layer has a batch size, or the net allows
  /// none but its own.
  std::optional<int> batch;
  bool given_up = false;  ///< it took a minute, and --largest_batch has not asked for it
};

/// The largest --batch whose plans fit into the budget of `options`. `graphs` are those of the nets
/// as they are, which need `bytes` of device memory (none: not known), and a plan for which is
/// within the host's limit: the first guess, as what does not stay grows about as the batch does.
/// The nets are tried in a child process, which may fail. A strategy that searches is asked for
/// plans of the fewest bytes, each of which takes a search: the batch that is found fits, and the
/// first one that is larger by 1 % (at least by one item) is known or guessed, by what the found
/// one takes, not to fit. `try_harder`: it is asked for plans within the budget, too, and nothing
/// is guessed.
LargestBatch FindLargestBatch(const caffe::PlacementOptions& options,
                              const caffe::SolverGraphs& graphs, std::optional<int64_t> bytes,
                              bool try_harder);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_LARGEST_BATCH_HPP_
