#ifndef LAYRUB_PLACEMENT_PACK_SLIDING_HPP_
#define LAYRUB_PLACEMENT_PACK_SLIDING_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/placement/pack_moves.hpp"

namespace layrub {

/// Packs into `enough` bytes as an allocator would that sees one request after the other and may
/// move what it has given: where something finds no hole, what lies in one place makes way, and
/// where that finds none either, everything slides together. So what lives within `enough` bytes is
/// packed, unless something that may not be moved is in the way. Several ways to choose a hole are
/// tried; the one that moves the least is taken. All intervals of a run begin at the last of
/// `moments` (in order) before them; sizes are multiples of `unit`. Nothing if that fails, or for
/// many thousands of intervals.
std::optional<MovingPacking> PackSliding(const std::vector<Interval>& intervals,
                                         const std::vector<Movable>& movable,
                                         const std::vector<int32_t>& moments, int64_t unit,
                                         int64_t enough);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_PACK_SLIDING_HPP_
