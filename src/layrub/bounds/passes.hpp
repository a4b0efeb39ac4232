#ifndef LAYRUB_BOUNDS_PASSES_HPP_
#define LAYRUB_BOUNDS_PASSES_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::bounds {

/// A bound from below on the seconds from the start of operation `first`, of the forward pass, to
/// that of `last`, of a later one, or to the end, with `room` bytes of the device for what is not
/// persistent. `seconds` has, by operation, the least that it takes.
///
/// One boundary, that between the passes: of what operations from `first` on make and backward ones
/// before `last` need, as much as the room stays. What goes over the link is saved before and
/// loaded after; the rest is made again after, from what is there, loaded or made again in turn
/// (bounds/making_again.hpp), and from all that was made before `first`. Each pass takes at
/// least as long as the link, and as its operations. Neither copies in pieces nor tensors that
/// leave in part make a difference: bytes that stay, are late or are early take room, each as much
/// as any other.
double PassesSeconds(const Graph& graph, const Machine& machine, const std::vector<double>& seconds,
                     int64_t room, OpId first, OpId last);

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_PASSES_HPP_
