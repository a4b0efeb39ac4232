#ifndef LAYRUB_BOUNDS_MAX_FLOW_HPP_
#define LAYRUB_BOUNDS_MAX_FLOW_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace layrub::bounds {

/// Computes the maximum flow from one node of a directed network to another, which equals the
/// minimum cut between them (Dinitz 1970: shortest paths, level by level).
class MaxFlow {
 public:
  explicit MaxFlow(int32_t nodes) : edges_of_(nodes), level_(nodes), next_(nodes) {}

  /// `capacity` must not be negative. It may be infinite, but not on all edges of a path from
  /// source to sink.
  void AddEdge(int32_t from, int32_t to, double capacity);
  /// Returns the maximum flow. May be called once, when all edges are there.
  double Run(int32_t source, int32_t sink);
  /// After Run: whether `node` is on the source's side of the minimum cut that has the fewest nodes
  /// there.
  bool OnSourceSide(int32_t node) const { return level_[node] >= 0; }

 private:
  struct Edge {
    int32_t to = 0;
    double left = 0;  ///< remaining capacity
  };

  bool FindLevels(int32_t source, int32_t sink);
  double Push(int32_t node, int32_t sink, double flow);

  std::vector<Edge> edges_;  ///< each followed by its reverse
  std::vector<std::vector<int32_t>> edges_of_;
  std::vector<int32_t> level_;  ///< edges from the source with capacity left; -1: unreachable
  std::vector<size_t> next_;    ///< by node, the first of its edges that is not used up
};

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_MAX_FLOW_HPP_
