#ifndef LAYRUB_PARTITION_SEARCH_HPP_
#define LAYRUB_PARTITION_SEARCH_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layrub/base/comparable.hpp"
#include "layrub/base/status.hpp"
#include "layrub/partition/layout.hpp"

// How to divide a net among 2^k devices. Each of them then runs the same smaller net.
//
// The algorithm is that of M. Wang, C. Huang, J. Li: Supporting Very Large Models using Automatic
// Dataflow Graph Partitioning (Tofu), EuroSys 2019. The devices are halves, and halves of halves.
// Each of these levels is searched by itself, the outermost first, by dynamic programming over the
// operations in their order.

namespace layrub::partition {

/// One dimension of the loops that compute a layer. Cut in two, each half computes with half of
/// those operands that walk along it, and with all of the others. An output that does not walk
/// along it is then a sum of two (a reduction), as is the gradient of such an input or parameter.
struct Axis {
  std::string name;    ///< "item", "out", "in"
  int64_t extent = 0;  ///< into how many equal parts it can be cut at most; parts divide it
  /// The dimension of each operand that walks along it; -1: none.
  std::vector<int> inputs, outputs, params;
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
  int shared = -1;  ///< with all parameters that have the same number: they are one
};

/// A layer, with its forward, its backward and its updates.
struct Operation {
  std::string name;
  std::vector<int> inputs, outputs;  ///< indices into Network::values
  std::vector<Parameter> params;
  std::vector<Axis> axes;  ///< none: it can only be computed as a whole, by every device
  double seconds = 0;      ///< that it takes on one device, forward and backward
};

struct Network {
  std::vector<Value> values;
  std::vector<Operation> operations;  ///< in the order in which they run
};

/// What each operation and value is on each level.
struct Partition {
  std::vector<std::vector<int>> axes;     ///< by level and operation: index into axes; -1: whole
  std::vector<std::vector<Level>> homes;  ///< by level and value: how it lies between operations
  LAYRUB_COMPARABLE(Partition)

  int levels() const { return static_cast<int>(axes.size()); }
};

/// What is wanted of a partition. Costs are in seconds, or in any other unit.
struct Wish {
  double per_byte = 1;              ///< cost of a byte that a device receives
  double per_second = 0;            ///< cost of a second of computing
  double per_resident = 0;          ///< cost of a byte of a value or parameter that a device has
  bool cut_all = false;             ///< an operation is computed as a whole only where it must be
  bool same_on_all_levels = false;  ///< what is cut on one level is cut likewise on all, if it can
  /// Whether axis `axis` (-1: none) of operation `op` may be cut on `level`, and whether a value
  /// may lie so between operations. Empty: yes.
  std::function<bool(int level, int op, int axis)> allows = {};
  std::function<bool(int level, int value, Level)> allows_home = {};
  /// Each operation takes the axis that is best for itself, given those before it.
  bool greedy = false;
};

/// The best that is found for 2^`levels` devices. Deterministic.
Partition Search(const Network& network, int levels, const Wish& wish);

/// The layout that operation `op` wants of its input `i`, gives its output, and has its parameter
/// in.
Layout InputLayout(const Network& network, const Partition& partition, int op, int i);
Layout OutputLayout(const Network& network, const Partition& partition, int op, int i);
Layout ParamLayout(const Network& network, const Partition& partition, int op, int i);
/// How a value lies between operations.
Layout Home(const Network& network, const Partition& partition, int value);
/// The bytes that a device receives in an iteration, forward, backward and for gradients, where
/// each value is exchanged once for all operations that want it in one layout.
int64_t BytesReceived(const Network& network, const Partition& partition);
/// Into how many parts the operation's axis `axis` is cut.
int Parts(const Partition& partition, int op, int axis);

}  // namespace layrub::partition

#endif  // LAYRUB_PARTITION_SEARCH_HPP_
