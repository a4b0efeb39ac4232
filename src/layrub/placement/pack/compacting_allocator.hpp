#ifndef LAYRUB_PLACEMENT_PACK_COMPACTING_ALLOCATOR_HPP_
#define LAYRUB_PLACEMENT_PACK_COMPACTING_ALLOCATOR_HPP_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/pack/options.hpp"
#include "layrub/placement/pack/pack.hpp"
#include "layrub/placement/pack/pack_compacting.hpp"
#include "layrub/placement/pack/ready_times.hpp"

namespace layrub::placement::pack {

/// The requests to a CompactingAllocator. All vectors but `order` have one element for each
/// interval.
struct CompactingRequests {
  std::vector<Interval> intervals;
  std::vector<Movable> movable;
  std::vector<Timing> timings;
  /// The interval whose first bytes this one continues, or kNone. If this one is smaller, it is the
  /// part that is left of the other; if it is larger, the other is the part.
  std::vector<int32_t> follows;
  double moved_byte = 1;  ///< see Timings
  double piece = 0;
  int64_t height = 0;          ///< bytes to give out
  std::vector<int32_t> order;  ///< by begin; of equal begins first intervals that shrink to a part,
                               ///< then those that grow, then the rest

  bool Shrinks(int32_t i) const {
    return follows[i] != kNone && intervals[i].bytes < intervals[follows[i]].bytes;
  }
  bool Grows(int32_t i) const { return follows[i] != kNone && !Shrinks(i); }
  void SetOrder();
};

/// Gives out bytes to one interval after the other, in order of begin, and moves earlier intervals
/// if that makes large enough holes; see PackCompacting.
class CompactingAllocator {
 public:
  /// `requests` must outlive it.
  explicit CompactingAllocator(const CompactingRequests& requests)
      : requests_(requests),
        offsets_(requests.intervals.size()),
        first_(requests.intervals.size()) {}

  /// Returns false if an interval finds no place.
  bool Run();

  const std::vector<int64_t>& first() const { return first_; }  ///< by interval: its first offset
  const std::vector<Shift>& shifts() const { return shifts_; }

 private:
  static constexpr int64_t kNowhere = -1;
  /// Gives up after looking at so many intervals. A look takes a nanosecond or two.
  static constexpr int64_t kMaxVisits = 10'000'000;
  static constexpr double kNoWay = std::numeric_limits<double>::infinity();
  struct Hole {
    int64_t begin = 0;
    int64_t end = 0;
    int32_t below = kNone;
    int32_t above = kNone;
  };
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  /// A way to make a hole around a part. If `down`, the part and the `below` intervals next below
  /// it slide down; the `above` intervals next above it slide up.
  struct Room {
    double cost = kNoWay;
    bool down = false;
    size_t below = 0;
    size_t above = 0;
  };
  /// A way to join holes: live_[first] to live_[last] slide together, down or up.
  struct Joint {
    double cost = kNoWay;
    size_t first = 0;
    size_t last = 0;
    bool down = true;
  };

  bool HasEnded(int32_t i);
  int64_t Bytes(int32_t i) const { return requests_.intervals[i].bytes; }
  int64_t End(int32_t i) const { return offsets_[i] + Bytes(i); }
  bool MayMove(int32_t i) const {
    return requests_.movable[i].from <= now_ && now_ <= requests_.movable[i].to;
  }
  double CostOf(int32_t i, int64_t pieces = 1) const;
  double WaitOf(int32_t i, int64_t offset) const;
  int64_t Pieces(int32_t i, int64_t offset) const;
  int64_t PiecesAt(int32_t i, int64_t distance) const;
  int64_t HoleBelow(size_t k) const;
  int64_t Apart(int32_t i, int32_t other) const;

  std::vector<int32_t>::iterator PlaceOf(int64_t offset);
  void Put(int32_t i, int64_t offset);
  void Remove(int32_t i);
  void Move(int32_t i, int64_t offset);
  void Undo(size_t moves);

  bool PlaceAll(std::span<const int32_t> fresh);
  bool Place(int32_t i);
  bool Grow(int32_t i, int32_t part);
  Room FindRoom(int32_t part, int64_t bytes);
  void MakeRoom(int32_t part, const Room& room);
  template <typename F>
  void ForEachHole(Range taken, const F& f);
  int64_t FindOffset(int32_t i, Range taken);
  int64_t MakeWay(int32_t i);
  std::optional<double> CostOfClearing(Range way);
  Joint FindJoint(int64_t bytes);
  void Join(const Joint& joint);
  bool Clear(Range way);
  void Slide(int64_t pieces);
  void SlideDown(const std::vector<int32_t>& live, size_t first, size_t last);
  void SlideUp(const std::vector<int32_t>& live, size_t first, size_t last);

  const CompactingRequests& requests_;
  std::vector<int64_t> offsets_;  ///< by interval: its current offset, or its last one
  std::vector<int64_t> first_;    ///< by interval: its first offset
  std::vector<Shift> shifts_;
  std::vector<int64_t> left_;  ///< by shift: the offset before it
  std::vector<int32_t> live_;  ///< the intervals that are placed now, sorted by offset
  ReadyTimes ready_;
  int32_t now_ = 0;
  double seconds_ = 0;  ///< when the intervals that began last are first used
  int64_t looks_ = 0;
};

}  // namespace layrub::placement::pack

#endif  // LAYRUB_PLACEMENT_PACK_COMPACTING_ALLOCATOR_HPP_
