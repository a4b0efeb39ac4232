#ifndef LAYRUB_PARTITION_LAYOUT_HPP_
#define LAYRUB_PARTITION_LAYOUT_HPP_

#include <cstdint>
#include <vector>

#include "layrub/base/comparable.hpp"

// How an array is divided among 2^k devices, and what they send one another when that changes.
// Devices form k levels of halves. On level l (0 is the outermost), device r is in the first half
// if bit k-1-l of r is 0.

namespace layrub {

/// What the two halves of a level have of a value and of its gradient.
enum class Share : uint8_t {
  kWhole,         ///< both have the whole value and the whole gradient
  kCut,           ///< each has one half of value and gradient, cut along a dimension
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
/// Returns the level of the gradient, seen as a value: kPart becomes kPartGradient, and the
/// reverse.
Level OfGradient(Level level);

/// How an array lies on the devices. A dimension that is cut on several levels is cut on the
/// outermost of them first.
struct Layout {
  std::vector<int64_t> dims;  ///< of the whole array
  /// By dimension, if several arrays are joined along it, as along the channels of a Concat: the
  /// sizes of these arrays. Each of them is cut, rather than the whole. Empty, or no entry for a
  /// dimension: a single array.
  std::vector<std::vector<int64_t>> joined;
  std::vector<Level> levels;  ///< the outermost first
  LAYRUB_COMPARABLE(Layout)

  int devices() const { return 1 << levels.size(); }
  Layout OfGradient() const;
  /// The same layout, except that all devices that have summands get the sum.
  Layout Summed() const;
};

/// The number of parts into which the layout cuts dimension `dim`.
int64_t Parts(const Layout& layout, int dim);
/// Whether dimension `dim`, and each array joined along it, can be cut into `parts` equal parts.
bool CanCut(const Layout& layout, int dim, int64_t parts);
/// The shape of what each device has. Requires CanCut of every dimension that is cut.
std::vector<int64_t> LocalDims(const Layout& layout);

struct Range {
  int64_t begin = 0, end = 0;
  LAYRUB_COMPARABLE(Range)
};
/// The indices that device `rank` has along `dim`, in order.
std::vector<Range> RangesOf(const Layout& layout, int dim, int rank);

/// `count` numbers along a dimension, from index `from` of what the sender has to index `to` of
/// what the receiver has.
struct Run {
  int64_t from = 0, to = 0, count = 0;
  LAYRUB_COMPARABLE(Run)
};

/// What goes from device `from` to device `to`, which may be the same. Each choice of one run per
/// dimension is a box of numbers.
struct Transfer {
  int from = 0, to = 0;
  std::vector<std::vector<Run>> runs;  ///< by dimension; none is empty
  LAYRUB_COMPARABLE(Transfer)
};
int64_t Count(const Transfer& transfer);

/// Returns all that devices send to change an array from layout `from` to layout `to`, by receiver
/// and then by sender. The new numbers of a device are the sums of what it receives, in this order,
/// and 0 where it receives nothing.
std::vector<Transfer> Transfers(const Layout& from, const Layout& to);

/// Returns the layouts to go through from one to the other, these two included, so that few bytes
/// are sent. If all devices need a sum, each first computes a part of the sum, where the array can
/// be cut.
std::vector<Layout> Stages(const Layout& from, const Layout& to);

/// Returns the most numbers that any device receives from others on the way through the Stages.
int64_t MaxReceived(const Layout& from, const Layout& to);

}  // namespace layrub

#endif  // LAYRUB_PARTITION_LAYOUT_HPP_
