#ifndef LAYRUB_PARTITION_LAYOUT_HPP_
#define LAYRUB_PARTITION_LAYOUT_HPP_

#include <cstdint>
#include <vector>

#include "layrub/base/comparable.hpp"

// What each of 2^k devices has of an array, and who sends what to whom where that changes. Devices
// form k levels of halves: device r is in the first half on level l (0 is the outermost) where bit
// k-1-l of r is 0.

namespace layrub {

/// What the two halves of a level have of a value and of its gradient.
enum class Share : uint8_t {
  kWhole,         ///< both have all of both
  kCut,           ///< each has one half along a dimension, of both
  kPart,          ///< each has a summand of the value, and the whole gradient
  kPartGradient,  ///< each has the whole value, and a summand of the gradient
};

struct Level {
  Share share = Share::kWhole;
  int dim = -1;  ///< of kCut
  LAYRUB_COMPARABLE(Level)
};

inline Level Cut(int dim) { return {Share::kCut, dim}; }
inline Level Whole() { return {Share::kWhole, -1}; }
inline Level Part() { return {Share::kPart, -1}; }
inline Level PartGradient() { return {Share::kPartGradient, -1}; }
/// The same of the gradient, seen as a value: what was a summand of one is one of the other.
Level OfGradient(Level level);

/// How an array lies on the devices. A dimension that is cut on several levels is cut on the
/// outermost of them first.
struct Layout {
  std::vector<int64_t> dims;  ///< of the whole array
  /// By dimension, where several arrays are joined along it, as the channels of a Concat: their
  /// sizes. Each of them is cut, not the whole. Empty, or no entry: it is one array.
  std::vector<std::vector<int64_t>> joined;
  std::vector<Level> levels;  ///< the outermost first
  LAYRUB_COMPARABLE(Layout)

  int devices() const { return 1 << levels.size(); }
  Layout OfGradient() const;
  /// The same, where all devices that have summands get the sum.
  Layout Summed() const;
};

/// Into how many parts the layout cuts dimension `dim`.
int64_t Parts(const Layout& layout, int dim);
/// `dim` can be cut into `parts` equal parts, as all that is joined along it.
bool CanCut(const Layout& layout, int dim, int64_t parts);
/// The shape of what each device has; CanCut must hold of every dimension that is cut.
std::vector<int64_t> LocalDims(const Layout& layout);

struct Range {
  int64_t begin = 0, end = 0;
  LAYRUB_COMPARABLE(Range)
};
/// What device `rank` has along `dim`, in order.
std::vector<Range> RangesOf(const Layout& layout, int dim, int rank);

/// `count` numbers along a dimension, from index `from` of what one device has to index `to` of
/// what another one has.
struct Run {
  int64_t from = 0, to = 0, count = 0;
  LAYRUB_COMPARABLE(Run)
};

/// What goes from device `from` to device `to`, which may be the same: for each choice of one run
/// per dimension, a box.
struct Transfer {
  int from = 0, to = 0;
  std::vector<std::vector<Run>> runs;  ///< by dimension; none is empty
  LAYRUB_COMPARABLE(Transfer)
};
int64_t Count(const Transfer& transfer);

/// All that devices send where an array in layout `from` gets layout `to`, by receiver and then by
/// sender. A device's new numbers are the sums of what it receives, in this order, and 0 where it
/// receives nothing.
std::vector<Transfer> Transfers(const Layout& from, const Layout& to);

/// The layouts to go through from one to the other, these two included, so that few bytes are sent:
/// a sum that all devices need is first made by each for a part, where it can be cut.
std::vector<Layout> Stages(const Layout& from, const Layout& to);

/// The most numbers that one device receives from others on the way through the Stages.
int64_t MostReceived(const Layout& from, const Layout& to);

}  // namespace layrub

#endif  // LAYRUB_PARTITION_LAYOUT_HPP_
