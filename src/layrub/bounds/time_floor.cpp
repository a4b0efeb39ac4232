#include <algorithm>
#include <limits>
#include <vector>

#include "layrub/bounds/passes.hpp"
#include "layrub/bounds/tight_windows.hpp"
#include "layrub/placement/cost/timeline.hpp"

namespace layrub {
namespace {

double LeastSeconds(const Op& op, const Machine& machine) {
  double least = std::numeric_limits<double>::max();
  for (size_t form = 0; form < op.forms.size(); ++form) {
    const size_t variants = std::max<size_t>(op.forms[form].scratch.size(), 1);
    for (size_t scratch = 0; scratch < variants; ++scratch) {
      least = std::min(
          least, OpSeconds(op, static_cast<int32_t>(form), static_cast<int32_t>(scratch), machine));
    }
  }
  return least;
}

}  // namespace

double TimeFloor(const Graph& graph, const Machine& machine, int64_t budget) {
  std::vector<double> seconds;
  for (const Op& op : graph.ops) seconds.push_back(LeastSeconds(op, machine));
  const int64_t room = std::max<int64_t>(0, budget - PersistentBytes(graph));
  return std::max(
      bounds::PassesSeconds(graph, machine, seconds, room, 0, static_cast<OpId>(graph.ops.size())),
      bounds::TightWindowsSeconds(graph, machine, seconds, room));
}

}  // namespace layrub
