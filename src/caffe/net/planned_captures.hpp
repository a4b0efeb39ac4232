#ifndef CAFFE_NET_PLANNED_CAPTURES_HPP_
#define CAFFE_NET_PLANNED_CAPTURES_HPP_

#include <map>
#include <memory>
#include <vector>

#include "layrub/device/device.hpp"
#include "planned_memory.hpp"

namespace caffe {

/// A number that was none before, from 1 on. Any thread may call it.
int64_t NextNumber();

/// Operations that a GPU does again by itself: the steps of a plan are the same in each iteration
/// and so are their addresses. A run is made of operations that follow one another, with nothing
/// but allocations in between, and whose layers only queue work (MemoryTraits::capturable). Its
/// bodies run in the first iteration, are captured in the second, and are not asked from the third
/// one on: what was captured is queued with one call. Libraries may load, at a thread's first use,
/// what a capture must not: so nothing is captured that has not run before in the same State and
/// thread.
///
/// A ParameterCallback is called between runs: the operations of layers at which it acts are in
/// none. Nothing is captured where anybody else is called between layers.
template <typename Dtype>
class PlannedNet<Dtype>::Captures {
 public:
  Captures(PlannedNet* net, const PlacementOptions& options);

  /// The executor comes to operation `step`. True: it is one of a run that is repeated, its body
  /// must not run.
  bool Begin(const layrub::Step& step);
  /// Something else comes: what has been captured, or is to be repeated, is queued now.
  void End();
  /// A body has failed: nothing of what was being captured is done.
  void Abandon() noexcept;

  /// Operations that were repeated so far.
  int64_t repeated() const { return repeated_; }

 private:
  /// What bodies do depends on where the memory that nets share is, and on which gradients have
  /// been cleared.
  struct State {
    const void* shared = nullptr;
    std::vector<bool> zero;
    bool operator==(const State& other) const = default;
  };
  struct Capture {
    State before;
    int64_t thread = 0;  ///< in which bodies have run last
    std::vector<bool> zero_after = {};
    std::unique_ptr<layrub::CapturedWork> work = {};  ///< null: bodies have run, nothing more
  };
  struct Run {
    size_t operations = 0;
    std::vector<layrub::TensorId> gradients;  ///< that its operations add to
    std::vector<Capture> captures;
  };
  enum class Doing : uint8_t { kNothing, kBodies, kLookingAround, kCapturing, kRepeating };

  /// Layers of the net whose callbacks come with an operation; none where begin >= end.
  struct Called {
    int begin = 0, end = 0;
    bool backward = false;  ///< those of which pass
  };

  bool IsCapturable(const layrub::Step& step) const;
  void FindCalled();
  std::vector<typename Net<Dtype>::Callback*> Callbacks() const;
  bool IsWatched(const Called& called) const;
  void BeginRun();
  std::vector<bool> ZeroGradients() const;

  PlannedNet* const net_;
  const std::shared_ptr<layrub::TransientMemory> shared_;
  layrub::Device* device_;                                 ///< null: nothing is captured
  std::vector<bool> capturable_;                           ///< by step
  std::vector<Called> called_;                             ///< by step
  std::vector<typename Net<Dtype>::Callback*> callbacks_;  ///< for which the runs are
  std::map<int32_t, Run> runs_;                            ///< by first step
  Doing doing_ = Doing::kNothing;
  Run* run_ = nullptr;          ///< at which it is
  size_t done_ = 0;             ///< operations of that
  Capture* capture_ = nullptr;  ///< of the state in which that began, if it is not kBodies
  int64_t repeated_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_CAPTURES_HPP_
