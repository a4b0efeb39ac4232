#ifndef LAYRUB_BOUNDS_MAX_FLOW_HPP_
#define LAYRUB_BOUNDS_MAX_FLOW_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace layrub::bounds {

/// The largest flow from one node of a directed network to another, which is the least sum of
/// capacities that cuts them off (Dinitz 1970: shortest ways, level by level).
class MaxFlow {
 public:
  explicit MaxFlow(int32_t nodes) : edges_of_(nodes), level_(nodes), next_(nodes) {}

  /// `capacity` is not negative and may be infinite, though not on all edges of a way from source
  /// to sink.
  void AddEdge(int32_t from, int32_t to, double capacity);
  /// Called once, when all edges are there.
  double Run(int32_t source, int32_t sink);
  /// After Run: whether `node` is on the source's side of the cut with the fewest nodes there.
  bool OnSourceSide(int32_t node) const { return level_[node] >= 0; }

 private:
  struct Edge {
    int32_t to = 0;
    double left = 0;  ///< of its capacity
  };

  bool FindLevels(int32_t source, int32_t sink);
  double Push(int32_t node, int32_t sink, double flow);

  std::vector<Edge> edges_;  ///< each followed by its reverse
  std::vector<std::vector<int32_t>> edges_of_;
  std::vector<int32_t> level_;  ///< edges with capacity left from the source; -1: cut off
  std::vector<size_t> next_;    ///< of a node's edges, the first that is not used up
};

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_MAX_FLOW_HPP_
