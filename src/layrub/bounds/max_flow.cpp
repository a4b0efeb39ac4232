#include "layrub/bounds/max_flow.hpp"

#include <algorithm>
#include <limits>

namespace layrub::bounds {
namespace {

/// A remaining capacity of no more than this is due to rounding and does not count.
constexpr double kFlowRounding = 1e-15;

}  // namespace

void MaxFlow::AddEdge(int32_t from, int32_t to, double capacity) {
  edges_of_[from].push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

double MaxFlow::Run(int32_t source, int32_t sink) {
  double flow = 0;
  while (FindLevels(source, sink)) {
    std::fill(next_.begin(), next_.end(), 0);
    flow += Push(source, sink, std::numeric_limits<double>::infinity());
  }
  return flow;
}

bool MaxFlow::FindLevels(int32_t source, int32_t sink) {
  std::fill(level_.begin(), level_.end(), -1);
  std::vector<int32_t> queue{source};
  level_[source] = 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const int32_t e : edges_of_[queue[i]]) {
      const Edge& edge = edges_[e];
      if (edge.left <= kFlowRounding || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[queue[i]] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[sink] >= 0;
}

/// Pushes up to `flow` from `node` to the sink, one level nearer with each edge. Returns how much
/// it has pushed.
double MaxFlow::Push(int32_t node, int32_t sink, double flow) {
  if (node == sink) return flow;
  double pushed = 0;
  for (size_t& i = next_[node]; i < edges_of_[node].size(); ++i) {
    const int32_t e = edges_of_[node][i];
    const int32_t to = edges_[e].to;
    if (edges_[e].left <= kFlowRounding || level_[to] != level_[node] + 1) continue;
    const double more = Push(to, sink, std::min(flow - pushed, edges_[e].left));
    pushed += more;
    edges_[e].left -= more;
    edges_[e ^ 1].left += more;
    if (flow - pushed <= kFlowRounding) return pushed;
  }
  return pushed;
}

}  // namespace layrub::bounds
