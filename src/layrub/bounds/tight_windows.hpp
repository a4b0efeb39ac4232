#ifndef LAYRUB_BOUNDS_TIGHT_WINDOWS_HPP_
#define LAYRUB_BOUNDS_TIGHT_WINDOWS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::bounds {

/// A bound from below on the seconds of an iteration with `room` bytes of the device for what is
/// not persistent. `seconds` has, by operation, the least that it takes.
///
/// In the order of a plan's steps what is no operand of an operation has no more bytes there than
/// that leaves (its slack). Of a tensor with more, the rest is away: when it is read next, that has
/// come over the link, or all of it has been made again (bounds/absences.hpp). So much is
/// certain, and counts as work of the operations, of the link up, of the link down, and of both
/// ways together. Where there is a choice, it counts as what is cheapest at given prices of the
/// four, which add up to 1: no time is shorter than prices times work.
///
/// Operations with large working sets cut the iteration into windows. What belongs to a window by
/// the order of steps is done between the start of its first operation and that of the next
/// window's, but for copies: pieces come as soon as nobody needs the bytes that they go to. At
/// each moment they are in bytes that nobody else uses: when the first operation starts, and still
/// when it ends, what has come early for later ones, and what is late in leaving, has no more bytes
/// than its slack. That is subtracted where prices change, at these moments; while they stay, it
/// makes no difference to which window a copy belongs.
///
/// Besides, of all that a window reads, and that its first operation does not, no more bytes than
/// the slack are there from before, and the rest has to come back, too. In short windows what
/// making that again reads has to come back in turn, or counts among what is there: at prices of
/// operations and the link up that is a minimum cut (bounds/making_again.hpp). What an operation
/// makes that nothing makes again, and that is read after an operation at which it cannot be whole,
/// leaves, but for what has room there.
///
/// Between the last tight operation of the forward pass and one after it that pass turns into the
/// other: there the bound may also be that of bounds/passes.hpp.
double TightWindowsSeconds(const Graph& graph, const Machine& machine,
                           const std::vector<double>& seconds, int64_t room);

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_TIGHT_WINDOWS_HPP_
