#ifndef LAYRUB_PLACEMENT_POLICIES_VDNN_HPP_
#define LAYRUB_PLACEMENT_POLICIES_VDNN_HPP_

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::policies {

/// Which layers' inputs leave the device under vDNN.
enum class Offload {
  kNothing,
  kConv,  ///< those of conv-like operations (conv_like.hpp)
  kAll,   ///< those of all operations that do not run in place on them
};

/// vDNN's memory manager: everything lives as under `liveness`, and the inputs that `which` names
/// and that backward reads go to the host after their last forward use. Their bytes are free at
/// once: whoever takes them waits for the copy. Each backward operation fetches what the next one
/// below needs of them, not looking beyond the next conv-like operation. Workspaces are the
/// smallest. Source: Rhu, Gimelshein, Clemons, Zulfiqar, Keckler, "vDNN" (MICRO-49, 2016),
/// section 3.
Decision OffloadInputs(const Graph& graph, Offload which);

/// `decision` with each operation's fastest deterministic workspace, whatever it needs: vDNN's
/// performance-optimal algorithms.
Decision InFastestWorkspaces(const Graph& graph, const Machine& machine, Decision decision);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_VDNN_HPP_
