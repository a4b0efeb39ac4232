#ifndef CAFFE_PLACEMENT_HPP_
#define CAFFE_PLACEMENT_HPP_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "layrub/device/backend.hpp"
#include "layrub/placement/cost/workspaces.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/runtime/executor.hpp"

namespace caffe {

/// What a plan may do besides placing memory so that layers run faster. The bits are the same with
/// and without each: they can be switched off to see what one is worth, or where a fault lies.
struct Optimizations {
  bool layer_fusion = true;    ///< layers run as one, where they may (Layer::FusedWith)
  bool channel_blocks = true;  ///< channels of private blobs lie in blocks (Blob::channel_block)
  /// A GPU repeats what it has done in the iteration before, as graphs of CUDA, where layers only
  /// queue work (MemoryTraits::capturable).
  bool cuda_graphs = true;
};

/// How a net's memory is to be planned.
struct PlacementOptions {
  std::string strategy = "auto";
  layrub::Budget budget;
  std::vector<std::string> keep;  ///< blobs that must be readable after a pass
  std::string spill_file;         ///< see layrub::MakeCpuBackend; empty: budget.spill is 0
  layrub::Machine machine;
  /// The same plan in each run, and workspaces with reproducible results only: a solver does not
  /// plan again from measured times.
  bool deterministic = false;
  /// A plan for the net as it is now, to be used as it is; null: one is made.
  std::shared_ptr<const layrub::Plan> plan;
  Optimizations optimizations;
  /// How many bytes larger the memory shared with other nets (executor.transient) is than what this
  /// plan needs of it. Feeding ahead leaves them out of the memory that it may use.
  int64_t shared_beyond = 0;
  // For tests and measurements.
  int64_t padding = 0;  ///< bytes between ranges, see layrub::Schedule
  layrub::ExecutorOptions executor;
  int workspace = -1;    ///< only the workspace of this number, see layrub::KeepWorkspace; -1: any
  bool measure = false;  ///< a solver plans again, whatever the strategy and its plan
};

/// kInvalid: what does not fit into host memory may go to a file, but that has no name.
layrub::Status CheckSpillFile(const PlacementOptions& options);

/// Leaves in `graph` the workspaces that the options allow, and its feeds if the plan is for a
/// device with memory of its own: in GPU mode, or where the machine's capacity is known. kInvalid:
/// there is an operation with no workspace.
layrub::Status MeetOptions(const PlacementOptions& options, layrub::Graph* graph);

/// A backend of the calling thread's device in GPU mode, of the CPU otherwise. `spill_file` as for
/// layrub::MakeCpuBackend.
std::shared_ptr<layrub::Backend> MakeBackend(const std::string& spill_file);

/// The options that a `placement { ... }` message asks for; kInvalid names the field that cannot be
/// read or the blob size or strategy that does not exist. Fields that are not set keep their
/// defaults. In GPU mode, device_memory is less DeviceUsage::overhead_bytes; not set: what is free.
layrub::Result<PlacementOptions> ToOptions(const PlacementParameter& parameter);

}  // namespace caffe

#endif  // CAFFE_PLACEMENT_HPP_
