#ifndef LAYRUB_PLACEMENT_PACK_PACK_HPP_
#define LAYRUB_PLACEMENT_PACK_PACK_HPP_

#include <cstdint>
#include <vector>

namespace layrub::placement::pack {

/// A range that needs an address from time `begin` until just before `end`. Times are step
/// positions, begin < end.
struct Interval {
  int64_t bytes = 0;
  int32_t begin = 0;
  int32_t end = 0;
  bool operator==(const Interval&) const = default;
};

/// Addresses of the intervals. Two that share a moment share no byte. Offsets are sums of sizes, so
/// they are aligned if all sizes are.
struct Packing {
  std::vector<int64_t> offsets;  ///< one per interval
  int64_t bytes = 0;             ///< the highest byte used, plus one
};

/// The largest sum of bytes that live at the same moment: no packing is smaller.
int64_t LargestLiveSum(const std::vector<Interval>& intervals);

/// Puts the intervals that live all the time at the bottom, in the order given, and lists the
/// others.
Packing PackWhole(const std::vector<Interval>& intervals, std::vector<int32_t>* others);

/// Packs by best fit, in order of time and then in several other orders, and returns the smallest
/// result. Begins with PackWhole. Stops once a packing needs at most `enough` bytes. Deterministic.
/// Takes about n log n steps for n intervals, and a few hundredths of a second for the other
/// orders, which are skipped if that would not suffice for one of them.
Packing Pack(const std::vector<Interval>& intervals, int64_t enough = 0);

}  // namespace layrub::placement::pack

#endif  // LAYRUB_PLACEMENT_PACK_PACK_HPP_
