// How a CompactingAllocator makes holes: which of what lies somewhere moves, and where to.
#include <algorithm>
#include <optional>
#include <utility>

#include "layrub/placement/pack/compacting_allocator.hpp"

namespace layrub::placement::pack {

/// Where the holes around `part` make one of at least `bytes` beside it at the least cost.
CompactingAllocator::Room CompactingAllocator::FindRoom(int32_t part, int64_t bytes) {
  const size_t count = live_.size();
  const auto at = static_cast<size_t>(PlaceOf(offsets_[part]) - live_.begin());
  Room best;
  int64_t below = 0;
  double cost_below = 0;
  for (size_t d = 0; d <= at + 1; ++d) {  // d > 0: the part and d - 1 below it go down
    if (d > 0) {
      const size_t k = at + 1 - d;
      if (!MayMove(live_[k])) break;
      below += HoleBelow(k);
      cost_below += CostOf(live_[k]);
    }
    int64_t sum = below;
    double cost = cost_below;
    for (size_t u = 0; at + 1 + u <= count; ++u) {
      ++looks_;
      if (u > 0) {
        if (!MayMove(live_[at + u])) break;
        cost += CostOf(live_[at + u]);
      }
      sum += HoleBelow(at + 1 + u);
      if (cost >= best.cost) break;
      if (sum >= bytes) {
        best = {cost, d > 0, d > 0 ? d - 1 : 0, u};
        break;
      }
    }
  }
  return best;
}

void CompactingAllocator::MakeRoom(int32_t part, const Room& room) {
  const auto at = static_cast<size_t>(PlaceOf(offsets_[part]) - live_.begin());
  const std::vector<int32_t> live = live_;
  if (room.down) SlideDown(live, at - room.below, at);
  if (room.above > 0) SlideUp(live, at + 1, at + room.above);
}

/// Slides live[first] to live[last] down over the holes below them. `live` is a copy of live_.
void CompactingAllocator::SlideDown(const std::vector<int32_t>& live, size_t first, size_t last) {
  int64_t bottom = first > 0 ? End(live[first - 1]) : 0;
  for (size_t k = first; k <= last; ++k) {
    if (offsets_[live[k]] != bottom) Move(live[k], bottom);
    bottom = End(live[k]);
  }
}

/// The same upward.
void CompactingAllocator::SlideUp(const std::vector<int32_t>& live, size_t first, size_t last) {
  int64_t top = last + 1 < live.size() ? offsets_[live[last + 1]] : requests_.height;
  for (size_t k = last + 1; k-- > first;) {
    top -= Bytes(live[k]);
    if (offsets_[live[k]] != top) Move(live[k], top);
  }
}

/// Moves the intervals whose moves cost least out of the way of `i`, into other holes or together.
/// Returns the offset that is free for `i` then.
int64_t CompactingAllocator::MakeWay(int32_t i) {
  const int64_t bytes = Bytes(i);
  std::vector<std::pair<double, int64_t>> windows;  // cost, offset
  const auto add = [&](int64_t offset) {
    if (offset < 0 || offset + bytes > requests_.height) return;
    const auto cost = CostOfClearing({offset, offset + bytes});
    if (cost) windows.emplace_back(*cost, offset);
  };
  add(0);
  add(requests_.height - bytes);
  for (const int32_t other : live_) {
    add(offsets_[other] - bytes);
    add(End(other));
  }
  std::sort(windows.begin(), windows.end());
  windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
  const Joint joint = FindJoint(bytes);
  for (const auto& [cost, offset] : windows) {
    if (looks_ > kMaxVisits || cost > joint.cost) break;
    if (Clear({offset, offset + bytes})) return offset;
  }
  if (joint.cost == kNoWay) return kNowhere;
  Join(joint);
  return FindOffset(i, {});
}

/// Returns nothing if an interval in the way may not be moved.
std::optional<double> CompactingAllocator::CostOfClearing(Range way) {
  double cost = 0;
  for (const int32_t i : live_) {
    ++looks_;
    if (offsets_[i] >= way.end) break;
    if (End(i) <= way.begin) continue;
    if (!MayMove(i)) return std::nullopt;
    cost += CostOf(i);
  }
  return cost;
}

/// Finds the cheapest intervals to slide together so that the holes between them become one of at
/// least `bytes`.
CompactingAllocator::Joint CompactingAllocator::FindJoint(int64_t bytes) {
  Joint best;
  const size_t count = live_.size();
  for (const bool down : {true, false}) {
    // The k-th interval in the order in which they slide, and the hole before it.
    const auto at = [&](size_t k) { return down ? k : count - 1 - k; };
    const auto hole = [&](size_t k) { return HoleBelow(down ? k : count - k); };
    for (size_t a = 0; a < count; ++a) {
      int64_t sum = hole(a);
      double cost = 0;
      for (size_t b = a; sum > 0 && b < count && MayMove(live_[at(b)]); ++b) {
        ++looks_;
        cost += CostOf(live_[at(b)], PiecesAt(live_[at(b)], sum));
        sum += hole(b + 1);
        if (cost >= best.cost) break;
        if (sum >= bytes) {
          best = {cost, std::min(at(a), at(b)), std::max(at(a), at(b)), down};
          break;
        }
      }
    }
  }
  return best;
}

void CompactingAllocator::Join(const Joint& joint) {
  const std::vector<int32_t> live = live_;
  if (joint.down) {
    SlideDown(live, joint.first, joint.last);
  } else {
    SlideUp(live, joint.first, joint.last);
  }
}

/// Moves everything out of `way` into other holes. Moves nothing and returns false if something
/// finds no hole.
bool CompactingAllocator::Clear(Range way) {
  std::vector<int32_t> inside;
  for (const int32_t i : live_) {
    if (offsets_[i] < way.end && End(i) > way.begin) inside.push_back(i);
  }
  std::stable_sort(inside.begin(), inside.end(),
                   [this](int32_t a, int32_t b) { return Bytes(a) > Bytes(b); });
  const size_t done = shifts_.size();
  for (const int32_t i : inside) {
    const int64_t offset = FindOffset(i, way);
    if (offset == kNowhere) {
      Undo(done);
      return false;
    }
    Move(i, offset);
  }
  return true;
}

/// Slides everything that may be moved down as far as possible, each interval only if that takes at
/// most `pieces` pieces.
void CompactingAllocator::Slide(int64_t pieces) {
  const std::vector<int32_t> before = live_;
  int64_t bottom = 0;
  for (const int32_t i : before) {
    if (bottom < offsets_[i] && MayMove(i) && Pieces(i, bottom) <= pieces) Move(i, bottom);
    bottom = End(i);
  }
}

}  // namespace layrub::placement::pack
