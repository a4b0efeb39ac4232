#ifndef LAYRUB_PLACEMENT_TIGHT_WINDOWS_HPP_
#define LAYRUB_PLACEMENT_TIGHT_WINDOWS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"

namespace layrub {

/// A bound from below on the seconds of an iteration with `room` bytes of the device for what is
/// not persistent; never grows with the room. `seconds` has, by operation, the least that it takes.
///
/// Operations with large working sets cut the iteration into windows: a window is the time from the
/// start of one of them, `first`, to that of another, `last`. What holds for each window adds up.
/// Beside its operands an operation leaves so many bytes, its slack; so while `first` runs, a
/// tensor that is none of its operands
///   - and has more bytes than its slack is not there, and is not on its way: to be read in the
///     window it comes back after `first`, over the link or made again by the operation that makes
///     it;
///   - others are there, or on their way, as far as the slack goes.
/// Likewise, what an operation of the window makes that nothing makes again, that is read after
/// `last`, is none of its operands and has more bytes than its slack, leaves within the window.
/// After `first`, the window takes at least as long as the link in either direction, and as its
/// operations and what is made again, one after the other. Between the two ways back the bound
/// takes whatever is least, in parts; what making again reads counts as there.
double TightWindowsSeconds(const Graph& graph, const Machine& machine,
                           const std::vector<double>& seconds, int64_t room);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_TIGHT_WINDOWS_HPP_
