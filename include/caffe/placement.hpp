#ifndef CAFFE_PLACEMENT_HPP_
#define CAFFE_PLACEMENT_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "layrub/device/backend.hpp"
#include "layrub/placement/cost/algorithm_choices.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/runtime/executor.hpp"

namespace caffe {

/// What a plan may do, besides placing memory, to make layers faster. The results have the same
/// bits with and without each optimization. Each can be switched off, to measure its effect or to
/// find a fault.
struct Optimizations {
  bool layer_fusion = true;    ///< run layers as one if possible (Layer::FusedWith)
  bool channel_blocks = true;  ///< store private blobs in channel blocks (Blob::channel_block)
  /// Replay the work of the previous iteration on a GPU as CUDA graphs, for layers that only queue
  /// work (MemoryTraits::capturable).
  bool cuda_graphs = true;
};

/// How many items of a batch the layers of a net compute at a time. See docs/placement.md,
/// "Slices".
struct Slicing {
  int parts = 1;        ///< the number of slices, of equal size; 1: layers run for the whole batch
  bool rounds = false;  ///< also layers that then round sums differently
  bool operator==(const Slicing& other) const {
    return parts == other.parts && rounds == other.rounds;
  }
};

/// Options for planning the memory of a net.
struct PlacementOptions {
  std::string strategy = "auto";
  layrub::Budget budget;
  std::vector<std::string> keep;  ///< blobs that must be readable after a pass
  /// Gradients of parameters stay readable after a backward (PlacementParameter.keep_gradients).
  bool keep_gradients = false;
  /// The plan updates each parameter within the backward pass, and its gradient lives there only:
  /// see Net::MemoryGraph. A solver decides it (SolverPlans).
  bool transient_gradients = false;
  /// The parameters of another net are copied to the device for their uses: see Net::MemoryGraph. A
  /// solver decides it, for its test nets.
  bool feeds_parameters = false;
  /// Whether layers may run in slices, and the slices of this net. A solver decides how many
  /// (SolverPlans). PlacementParameter.slices may allow those that round; on a GPU they are allowed
  /// unless `deterministic` is set.
  bool may_slice = true;
  Slicing slicing;
  std::string spill_file;  ///< see layrub::MakeCpuBackend; if empty, budget.spill must be 0
  layrub::Machine machine;
  /// Make the same plan in each run, and use only algorithms with reproducible results: a solver
  /// does not plan again with measured times.
  bool deterministic = false;
  /// A plan for the present net, which is used unchanged. Null: make one.
  std::shared_ptr<const layrub::Plan> plan;
  Optimizations optimizations;
  /// If set: called with the bytes of the device that plans may use, and returns how many they do
  /// use. Members of a group thus agree on the least, so that all make the same plan.
  std::function<int64_t(int64_t)> agree_on_bytes;
  /// The size of the memory shared with other nets (executor.transient), minus the bytes that this
  /// plan needs of it. Feeding ahead does not use these bytes.
  int64_t shared_excess = 0;
  // For tests and measurements.
  int64_t padding = 0;  ///< bytes between ranges, see layrub::Schedule
  layrub::ExecutorOptions executor;
  int algorithm = -1;  ///< use only the algorithm of this index, see layrub::KeepAlgorithm; -1: any
  bool measure = false;  ///< a solver measures and plans again with any strategy and plan
};

/// Whether a plan by these options is for a GPU: in GPU mode, or if the machine's capacity is
/// known.
bool IsForGpu(const PlacementOptions& options);

/// Returns kInvalid if budget.spill allows a spill file but `spill_file` is empty.
layrub::Status CheckSpillFile(const PlacementOptions& options);

/// Keeps in `graph` only the algorithms that the options allow, and its feeds only if IsForGpu.
/// Returns kInvalid if an operation has no algorithm left.
layrub::Status ApplyOptions(const PlacementOptions& options, layrub::Graph* graph);

/// Returns a backend for the calling thread's device in GPU mode, otherwise for the CPU. See
/// layrub::MakeCpuBackend for `spill_file`.
std::shared_ptr<layrub::Backend> MakeBackend(const std::string& spill_file);

/// Converts a `placement { ... }` message to options. Fields that are not set keep their defaults.
/// In GPU mode, DeviceUsage::overhead_bytes are subtracted from device_memory; if it is not set,
/// the budget is the free memory. Returns kInvalid, naming the field, if a value cannot be read, or
/// a byte size or strategy is invalid.
layrub::Result<PlacementOptions> ToOptions(const PlacementParameter& parameter);

}  // namespace caffe

#endif  // CAFFE_PLACEMENT_HPP_
