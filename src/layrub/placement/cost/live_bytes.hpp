#ifndef LAYRUB_PLACEMENT_COST_LIVE_BYTES_HPP_
#define LAYRUB_PLACEMENT_COST_LIVE_BYTES_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::cost {

/// The live bytes of the device during each of `runs` runs, including state tensors and workspaces.
/// Bytes that packing leaves unused come on top.
std::vector<int64_t> LiveBytes(const Lifetimes& lives, size_t runs);
/// The largest of them: no packing needs fewer.
int64_t PeakLiveBytes(const Lifetimes& lives, size_t runs);

}  // namespace layrub::placement::cost

#endif  // LAYRUB_PLACEMENT_COST_LIVE_BYTES_HPP_
