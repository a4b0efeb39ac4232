#ifndef CAFFE_NET_PLANNED_CAPTURES_HPP_
#define CAFFE_NET_PLANNED_CAPTURES_HPP_

#include <map>
#include <memory>
#include <vector>

#include "layrub/device/device.hpp"
#include "planned_values.hpp"

namespace caffe {

/// Returns a new number at each call, from 1 on. Thread safe.
int64_t NextNumber();

/// Operations that a GPU replays as CUDA graphs, because the steps of a plan and their addresses
/// are the same in each iteration. A Run is a sequence of operations whose layers only queue work
/// (MemoryTraits::capturable), with nothing but allocations in between. Its layers are called in
/// the first iteration and captured in the second. From the third on they are not called; the
/// captured work is queued with one call. At a thread's first use libraries may do what a capture
/// forbids, so operations are captured only after they have run in the same State and thread.
///
/// Operations of layers at which a ParameterCallback acts belong to no Run, so it is called between
/// Runs. With any other callback between layers, nothing is captured.
template <typename Dtype>
class PlannedCaptures {
 public:
  PlannedCaptures(const Net<Dtype>& net, const PlannedGraph<Dtype>& graph,
                  PlannedValues<Dtype>* values, const PlacementOptions& options);

  /// Call it when the executor comes to operation `step`. Returns true if the operation is part of
  /// a Run that is replayed. Then its layer must not be called.
  bool Begin(const layrub::Step& step);
  /// Call it when something else comes. Queues the Run that was captured or is replayed.
  void End();
  /// Call it when a layer has failed. Discards the capture in progress.
  void Abandon() noexcept;

  /// Number of operations replayed so far.
  int64_t repeated() const { return repeated_; }
  /// As PlannedNet::newest.
  int64_t newest() const { return newest_; }

 private:
  /// The work of layers depends on the address of the memory that nets share, and on which
  /// gradients have been cleared.
  struct State {
    const void* shared = nullptr;
    std::vector<bool> zero;
    bool operator==(const State& other) const = default;
  };
  struct Capture {
    State before;
    int64_t thread = 0;  ///< in which the layers were called last
    std::vector<bool> zero_after = {};
    std::unique_ptr<layrub::CapturedWork> work = {};  ///< null: not captured yet
  };
  struct Run {
    size_t operations = 0;
    std::vector<layrub::TensorId> gradients;  ///< gradients to which its operations add
    std::vector<Capture> captures;
  };
  enum class Doing : uint8_t { kNothing, kBodies, kLookingAround, kCapturing, kRepeating };

  /// Layers of the net whose callbacks are called with an operation; none if begin >= end.
  struct Called {
    int begin = 0, end = 0;
    bool backward = false;  ///< whether they are callbacks of the backward
  };

  bool IsCapturable(const layrub::Step& step) const;
  void FindCallbackLayers();
  std::vector<typename Net<Dtype>::Callback*> Callbacks() const;
  bool IsWatched(const Called& called) const;
  void BeginRun();
  std::vector<bool> ZeroGradients() const;

  const Net<Dtype>& net_;
  const PlannedGraph<Dtype>& graph_;
  PlannedValues<Dtype>* const values_;
  const std::shared_ptr<layrub::TransientMemory> shared_;
  layrub::Device* device_;                                 ///< null if nothing is captured
  std::vector<bool> capturable_;                           ///< by step
  std::vector<Called> called_;                             ///< by step
  std::vector<typename Net<Dtype>::Callback*> callbacks_;  ///< when the runs were made
  std::map<int32_t, Run> runs_;                            ///< by first step
  Doing doing_ = Doing::kNothing;
  Run* run_ = nullptr;          ///< the current one
  size_t done_ = 0;             ///< operations of it so far
  Capture* capture_ = nullptr;  ///< for the state in which it began; not used for kBodies
  int64_t repeated_ = 0;
  int64_t newest_ = NextNumber();
  DISABLE_COPY_AND_ASSIGN(PlannedCaptures);
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_CAPTURES_HPP_
