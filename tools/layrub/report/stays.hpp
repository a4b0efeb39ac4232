#ifndef TOOLS_LAYRUB_REPORT_STAYS_HPP_
#define TOOLS_LAYRUB_REPORT_STAYS_HPP_

#include <array>
#include <cstdint>
#include <vector>

#include "layrub/placement/cost/occupancy.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub_tool {

/// A tensor in its bytes of a tier. Times are numbers of runs: how many there were before.
struct Stay {
  layrub::TensorId tensor = layrub::kNone;
  /// kDevice, or kHost: host memory, and above that the file.
  layrub::Tier tier = layrub::Tier::kDevice;
  int64_t offset = 0;
  int64_t bytes = 0;   ///< less than the tensor's where only a part of it is there
  int begin = 0;       ///< it has the bytes from here
  int first = -1;      ///< and is in use from here
  int last = -1;       ///< to here
  int end = -1;        ///< until here. An output that lies on it takes over its bytes at its `end`
  bool again = false;  ///< its value was computed again
};

/// A copy between the tiers, queued after `run` runs.
struct Copy {
  layrub::TensorId tensor = layrub::kNone;
  bool to_host = false;
  int run = 0;
  int64_t bytes = 0;
};

/// A step that runs an operation, and what lives on the device meanwhile.
struct Run {
  layrub::OpId op = layrub::kNone;
  bool again = false;  ///< it has run before (Step::again)
  int64_t bytes = 0;   ///< aligned ranges, each once, as in layrub::Peak
  layrub::RoleBytes by_role{};
};

/// Which bytes hold what, and when, over an iteration. Plain data.
struct Stays {
  std::vector<Stay> stays;  ///< by `begin`
  std::vector<Copy> copies;
  std::vector<Run> runs;
  std::array<int, 3> pass_end{};  ///< runs of the pass and those before
  int peak = -1;                  ///< the first run with the most bytes; -1: nothing runs
};

/// Requires a plan of `graph` to which layrub::Check has no objection.
Stays WalkPlan(const layrub::Graph& graph, const layrub::Plan& plan);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_STAYS_HPP_
