#ifndef LAYRUB_PLACEMENT_IR_LIFETIMES_HPP_
#define LAYRUB_PLACEMENT_IR_LIFETIMES_HPP_

#include <cstdint>
#include <vector>

#include "layrub/base/comparable.hpp"
#include "layrub/base/status.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/short_list.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement {

/// A stretch of runs, both ends included, during which a tensor has a range of the device.
struct Residence {
  TensorId tensor = kNone;
  RunId begin = kNone;  ///< kNone: from the start of the plan
  RunId end = kNone;    ///< Decision::runs.size(): to the end of the plan
  /// The run that needs the value if a copy from the host tier brings it, at `begin`; else kNone.
  RunId fetched_for = kNone;
  /// The tensor whose range it takes over at `begin`; kNone: a range of its own.
  TensorId on = kNone;
  int64_t bytes = 0;  ///< aligned bytes of the range: those of the first tensor that `on` leads to
  /// The first `bytes` of it alone, from the end of run `begin`, at which the residence before
  /// ends, to the start of run `end`, at which the next one begins. What they hold goes on.
  bool part = false;
  /// Residences joined by `on` share a block: one range of the device. A part has its own.
  int32_t block = kNone;
  LAYRUB_COMPARABLE(Residence)
};

/// A stretch during which a tensor has a range of a tier that is not the device.
struct HostStay {
  TensorId tensor = kNone;
  ShortList<RunId> offloads;  ///< runs after which the value is copied there; the first one
                              ///< begins the stay
  RunId end = kNone;          ///< Decision::runs.size(): to the end of the plan
  int64_t from = 0;  ///< the first byte that is copied; those before stay on the device in all gaps
  bool home = false;        ///< from the start of the plan to its end, whatever is copied there
  Tier tier = Tier::kHost;  ///< or kFile: see SpillStays
  LAYRUB_COMPARABLE(HostStay)
};

/// A decision spelled out: where each tensor is during each run.
struct Lifetimes {
  std::vector<Residence> residences;  ///< by tensor, then by time
  std::vector<HostStay> host;         ///< by tensor; one at most of each
  int32_t blocks = 0;
  std::vector<TensorId> readable;  ///< Plan::readable
  LAYRUB_COMPARABLE(Lifetimes)
};

/// kInvalid names the operation and the tensor for which `decision` asks something impossible.
Result<Lifetimes> FindLifetimes(const Graph& graph, const Decision& decision);
/// As that, where `uses` is FindUses(graph, decision.runs) and CheckProgram finds the runs right.
Result<Lifetimes> FindLifetimes(const Graph& graph, const Decision& decision, const UseLists& uses);
/// Makes `lives` those of `decision`, which differs from the decision that they are of by when its
/// gaps give ranges back and take them.
void Retime(const Decision& decision, Lifetimes* lives);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_LIFETIMES_HPP_
