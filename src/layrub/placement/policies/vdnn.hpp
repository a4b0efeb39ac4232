#ifndef LAYRUB_PLACEMENT_POLICIES_VDNN_HPP_
#define LAYRUB_PLACEMENT_POLICIES_VDNN_HPP_

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::policies {

/// Which layers' inputs leave the device under vDNN.
enum class Offload {
  kNothing,
  kConv,  ///< those of conv-like operations (conv_like.hpp)
  kAll,   ///< those of all operations that do not run in place on them
};

/// vDNN's memory manager. Everything lives as under `liveness`, but the inputs that `which` names
/// and that backward reads are offloaded after their last forward use. Their bytes are free at
/// once: whoever takes them waits for the copy. Each backward operation prefetches what the next
/// operation below needs of them, but does not look beyond the next conv-like operation. Workspaces
/// are the smallest. Source: Rhu, Gimelshein, Clemons, Zulfiqar, Keckler, "vDNN" (MICRO-49, 2016),
/// section 3.
Program OffloadInputs(const Graph& graph, Offload which);

/// Returns `program` with the fastest deterministic algorithm of each operation, however large its
/// workspace: vDNN's performance-optimal algorithms.
Program WithFastestAlgorithms(const Graph& graph, const Machine& machine, Program program);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_VDNN_HPP_
