#ifndef LAYRUB_PLACEMENT_CHECK_CHECK_MEMORY_HPP_
#define LAYRUB_PLACEMENT_CHECK_CHECK_MEMORY_HPP_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::check {

/// What a range of bytes holds: the value of `tensor` after it was written `version` times in this
/// iteration; recomputations of the same value do not count. Version 0 exists for state tensors
/// only: the value from before the iteration.
struct Value {
  TensorId tensor = kNone;  ///< kNone: undefined bytes
  int32_t version = 0;
  bool operator==(const Value&) const = default;
};

/// Bytes [begin, end) of a tensor; by default all.
struct Span {
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
  bool Covers(const Span& other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Span&) const = default;
};

/// Bytes [offset, offset + bytes) of an arena and the tensors bound to them.
struct Range {
  int64_t offset = 0;
  int64_t bytes = 0;
  TensorId first = kNone;  ///< the tensor it was allocated for
  int32_t bound = 1;       ///< how many tensors are bound to it
  Span has;                ///< the bytes of `first`, aligned, that have a place in the range
  Value holds;
  Span of;  ///< the bytes of `holds` that it holds, each at its own place
};

/// The memory of one tier at a point of program order: which ranges are live, whose they are, and
/// what they hold. Live ranges never overlap.
class Arena {
 public:
  explicit Arena(size_t tensors) : range_of_(tensors, kNone) {}

  bool Has(TensorId tensor) const { return range_of_[tensor] != kNone; }
  /// The range of `tensor`. Requires Has(tensor); valid until the next Alloc.
  Range& Of(TensorId tensor) { return ranges_[range_of_[tensor]]; }
  const Range& Of(TensorId tensor) const { return ranges_[range_of_[tensor]]; }
  /// Requires Has(a).
  bool Share(TensorId a, TensorId b) const { return range_of_[a] == range_of_[b]; }
  /// The tensor whose live range overlaps [offset, offset + bytes), or kNone.
  TensorId Overlapping(int64_t offset, int64_t bytes) const;

  /// Binds `tensor`, which has no range, to a new range that overlaps none.
  void Alloc(TensorId tensor, int64_t offset, int64_t bytes);
  /// Binds `tensor`, which has no range, to the range of `on`, which has one.
  void Bind(TensorId tensor, TensorId on);
  /// Unbinds `tensor`, which has a range; the range ends with the last tensor bound to it.
  void Free(TensorId tensor);

 private:
  std::vector<int32_t> range_of_;  // per tensor, index into ranges_
  std::vector<Range> ranges_;      // every range there has been
  std::map<int64_t, int32_t>
      live_;  // offset -> index of the live range there; empty ranges are left out
};

}  // namespace layrub::placement::check

#endif  // LAYRUB_PLACEMENT_CHECK_CHECK_MEMORY_HPP_
