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
/// Beside its operands an operation leaves so many bytes, its slack. A tensor that the window reads
/// and that is none of the operands of `first` is there when that starts, or comes back in the
/// window, over the link or made again by the operation that makes it. Of the former, and of what
/// is on its way then, there are no more bytes than the slack: tensors come in pieces, each as soon
/// as nobody needs the bytes that it goes to, so that a part of a tensor may be there whose range
/// lies on what `first` still uses. A tensor with more bytes than the slack begins at least one
/// copy after that.
/// Likewise, what an operation of the window makes that nothing makes again, that is read after
/// `last`, is none of its operands and has more bytes than its slack, leaves within the window, but
/// for pieces in that slack.
/// After `first`, the window takes at least as long as the link in either direction, and as its
/// operations and what is made again, one after the other. Between the two ways back the bound
/// takes whatever is least, in parts; what making again reads counts as there.
double TightWindowsSeconds(const Graph& graph, const Machine& machine,
                           const std::vector<double>& seconds, int64_t room);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_TIGHT_WINDOWS_HPP_
