#ifndef LAYRUB_PARTITION_SEARCH_HPP_
#define LAYRUB_PARTITION_SEARCH_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layrub/base/comparable.hpp"
#include "layrub/base/status.hpp"
#include "layrub/partition/layout.hpp"

// Divides a net among 2^k devices. Each of them then runs the same smaller net.
//
// The algorithm is that of M. Wang, C. Huang, J. Li: Supporting Very Large Models using Automatic
// Dataflow Graph Partitioning (Tofu), EuroSys 2019. The devices form levels of halves, and halves
// of halves. Each level is searched by itself, the outermost first, by dynamic programming over the
// operations in order.

namespace layrub::partition {

/// In Axis::outputs: both halves have the whole output, and each has a summand of its gradient.
constexpr int kGathered = -2;

/// One dimension of the loops that compute a layer. If it is cut in two, each half computes with
/// half of every operand that has a dimension for it, and with all of the others. An output without
/// such a dimension is then a sum of two (a reduction), and so is the gradient of such an input or
/// parameter.
struct Axis {
  std::string name;    ///< "item", "out", "in"
  int64_t extent = 0;  ///< the most parts that it can be cut into; others divide it
  /// For each operand, its dimension for this axis; -1: none.
  std::vector<int> inputs, outputs, params;
  /// Bytes of values inside the operation that both halves need whole. Each computes one half of
  /// them and receives the other. The same is done with their gradients.
  int64_t gathered_bytes = 0;
  LAYRUB_COMPARABLE(Axis)
};

struct Value {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> joined;  ///< as Layout::joined
  int64_t bytes = 0;
  bool gradient = false;  ///< it has one
};

struct Parameter {
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> joined;
  int64_t bytes = 0;
  bool gradient = false;
  int shared = -1;  ///< parameters with the same number are one parameter; -1: it is not shared
};

/// A layer, with its forward, its backward and its updates.
struct Operation {
  std::string name;
  std::vector<int> inputs, outputs;  ///< indices into Network::values
  std::vector<Parameter> params;
  std::vector<Axis> axes;  ///< empty: every device computes the whole operation
  double seconds = 0;      ///< of forward and backward on one device
};

struct Network {
  std::vector<Value> values;
  std::vector<Operation> operations;  ///< in the order in which they run
};

/// How each operation and value is cut on each level.
struct Partition {
  std::vector<std::vector<int>> axes;     ///< by level and operation: index into axes; -1: whole
  std::vector<std::vector<Level>> homes;  ///< by level and value: its layout between operations
  LAYRUB_COMPARABLE(Partition)

  int levels() const { return static_cast<int>(axes.size()); }
};

/// What a search minimizes, and within which limits. Costs are in seconds, or in any other unit.
struct SearchGoal {
  double per_byte = 1;      ///< cost of a byte that a device receives
  double per_second = 0;    ///< cost of a second of computing
  double per_resident = 0;  ///< cost of a byte of a value or parameter that a device has
  bool cut_all = false;     ///< compute an operation as a whole only where that is unavoidable
  bool same_on_all_levels = false;  ///< use the same axis on all levels, if possible
  /// Whether axis `axis` (-1: none) of operation `op` may be cut on `level`, and whether a value
  /// may have this level between operations. Empty: everything is allowed.
  std::function<bool(int level, int op, int axis)> allows = {};
  std::function<bool(int level, int value, Level)> allows_home = {};
  /// Each operation takes the axis that is best for itself, given the axes of those before it.
  bool greedy = false;
};

/// Returns the best partition that the search finds for 2^`levels` devices. Deterministic.
Partition Search(const Network& network, int levels, const SearchGoal& wish);

/// The layout that operation `op` needs of its input `i`, gives its output `i`, and has its
/// parameter `i` in.
Layout InputLayout(const Network& network, const Partition& partition, int op, int i);
Layout OutputLayout(const Network& network, const Partition& partition, int op, int i);
Layout ParamLayout(const Network& network, const Partition& partition, int op, int i);
/// The layout of a value between operations.
Layout Home(const Network& network, const Partition& partition, int value);
/// Returns the bytes that a device receives in an iteration: forward, backward and for gradients. A
/// value is exchanged once for all operations that need it in one layout.
int64_t BytesReceived(const Network& network, const Partition& partition);
/// The number of parts into which axis `axis` of the operation is cut.
int Parts(const Partition& partition, int op, int axis);

}  // namespace layrub::partition

#endif  // LAYRUB_PARTITION_SEARCH_HPP_
