#ifndef LAYRUB_PLACEMENT_SCHEDULE_SCHEDULE_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_SCHEDULE_HPP_

#include <optional>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/pack/options.hpp"

namespace layrub::placement::schedule {

/// What a strategy chooses.
struct Choice {
  Program program;
  pack::Options options;
  std::optional<Plan> plan;  ///< Schedule(graph, program, options), if that is known
};

/// Turns a program into a plan: steps with offsets and with Waits. It adds no Wait that follows
/// from the others. If the program asks for something impossible, returns kInvalid, which names the
/// operation or tensor.
Result<Plan> Schedule(const Graph& graph, const Program& program,
                      const pack::Options& options = {});

/// Schedule without the Waits, which AddWaits inserts, for a program whose lifetimes, within
/// options.host_bytes, are known. Enough to know how many bytes the plan takes.
Plan PackSteps(const Graph& graph, const Program& program, const Lifetimes& lives,
               const pack::Options& options);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_SCHEDULE_HPP_
