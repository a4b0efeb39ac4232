#ifndef TOOLS_LAYRUB_REPORT_STAYS_HPP_
#define TOOLS_LAYRUB_REPORT_STAYS_HPP_

#include <array>
#include <cstdint>
#include <vector>

#include "layrub/placement/cost/occupancy.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub_tool {

/// The interval in which a tensor has one range of bytes in a tier. Times count the runs before.
struct Stay {
  layrub::TensorId tensor = layrub::kNone;
  /// kDevice or kHost. In kHost, offsets from the size of host memory upwards are in the spill
  /// file.
  layrub::Tier tier = layrub::Tier::kDevice;
  int64_t offset = 0;
  int64_t bytes = 0;  ///< less than the tensor's if only a part of it is resident
  int begin = 0;      ///< the tensor has the bytes from here
  int first = -1;     ///< and is used from here
  int last = -1;      ///< to here
  int end = -1;  ///< and keeps the bytes until here, when an output that aliases it takes them over
  bool again = false;  ///< its value was recomputed
};

/// A copy between the tiers, queued after `run` runs.
struct Copy {
  layrub::TensorId tensor = layrub::kNone;
  bool to_host = false;
  int run = 0;
  int64_t bytes = 0;
};

/// A step that runs an operation, and the bytes that are live on the device during it.
struct Run {
  layrub::OpId op = layrub::kNone;
  bool again = false;  ///< it has run before (Step::recompute)
  int64_t bytes = 0;   ///< of aligned ranges, each counted once, as in layrub::Peak
  layrub::RoleBytes by_role{};
};

/// Which tensor each byte holds, and when, during an iteration.
struct Stays {
  std::vector<Stay> stays;  ///< by `begin`
  std::vector<Copy> copies;
  std::vector<Run> runs;
  std::array<int, 3> pass_end{};  ///< number of runs up to the end of each pass
  int peak = -1;                  ///< the first run with the most bytes; -1 if nothing runs
};

/// Collects the stays of a plan. `plan` must be a plan of `graph` that passes layrub::Check.
Stays CollectStays(const layrub::Graph& graph, const layrub::Plan& plan);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_STAYS_HPP_
