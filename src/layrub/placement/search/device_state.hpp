#ifndef LAYRUB_PLACEMENT_SEARCH_DEVICE_STATE_HPP_
#define LAYRUB_PLACEMENT_SEARCH_DEVICE_STATE_HPP_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/short_list.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/search/frugal_variants.hpp"
#include "layrub/placement/search/greedy.hpp"
#include "layrub/placement/search/link_clock.hpp"
#include "layrub/placement/search/run_costs.hpp"

namespace layrub::placement::search {

/// EvictGreedily gives up after looking at so many candidates for eviction.
inline constexpr int64_t kMaxVisits = 30'000'000;

using Tensors = std::vector<TensorId>;
inline bool Has(const Tensors& tensors, TensorId t) {
  return std::find(tensors.begin(), tensors.end(), t) != tensors.end();
}

/// State of a tensor while EvictGreedily goes through the operations.
struct TensorState {
  bool resident = false;  ///< on the device
  bool fetched = false;   ///< prefetched, and no run has used it since
  bool copied = false;    ///< the host tier has its value
  bool covered = false;   ///< the run at hand writes an output over it
  bool lost = false;      ///< covered and not copied: it has to be recomputed
  int64_t size = 0;
  int64_t bytes = 0;  ///< of its range now; 0: none, or an output has taken it over
  size_t next = 0;    ///< index of its next use by an operation's first run
  int32_t pending =
      0;  ///< how many operations wait until all that they read, including it, is on the device
  int32_t level = 0;      ///< depth of the innermost of these
  RunId last = kNone;     ///< last run that used it
  RunId release = kNone;  ///< run after which it was evicted
};

/// The tensors on a device with `capacity` bytes. If bytes are missing, evicts the tensor whose
/// return costs the least in relation to its bytes and the time until it is needed.
class DeviceState {
 public:
  /// Keeps references to its arguments.
  DeviceState(const Graph& graph, const Start& start, const RunCosts& costs, const LinkClock& clock,
              int64_t capacity, const GreedyPolicy& policy);

  TensorState& operator[](TensorId t) { return states_[t]; }
  const TensorState& operator[](TensorId t) const { return states_[t]; }
  int64_t held() const { return held_; }  ///< bytes
  bool gave_up() const { return looks_ >= kMaxVisits; }

  /// The operation whose first run comes next, and how many operations wait for one another there:
  /// it and nested recomputations.
  OpId current = 0;
  int32_t depth = 0;

  /// Seconds that a prefetch of `t` takes if nothing else uses the link.
  double LinkSeconds(TensorId t) const { return clock_.Seconds(graph_.tensors[t].bytes); }
  /// Whether `t` can be recomputed, once its operation has run.
  bool HasProducer(TensorId t) const { return policy_.rematerialize && producers_[t] != kNone; }
  /// Seconds until the first run of an operation needs `t` again; kNever if none does.
  double UntilNeeded(TensorId t) const;

  void Enter(TensorId t);
  /// `release`: the last run so far.
  void Leave(TensorId t, RunId release);
  /// Notes that the current run writes an output over `t`.
  void Cover(TensorId t);
  /// Gives the bytes of the pair's input to its output.
  void TakeOver(const AliasPair& pair);

  /// Evicts tensors until `need` more bytes are free, as far as possible. `operands`, those of the
  /// current run, stay, but outputs may be laid on the inputs of `pairs`; pairs chosen so are
  /// appended to `aliases`. `release`: the last run so far.
  void MakeRoom(int64_t need, RunId release, const Tensors& operands, std::vector<AliasPair> pairs,
                ShortList<AliasPair>* aliases);

 private:
  /// What is evicted next: `tensor`, or, if that is kNone, the input of `pair`.
  struct Victim {
    TensorId tensor = kNone;
    AliasPair pair{};
    double score = kNever;
  };

  bool IsSmall(int64_t bytes) const;
  double Score(TensorId t, bool covered) const;
  Victim FindVictim(bool large, const Tensors& operands, const std::vector<AliasPair>& pairs);

  const Graph& graph_;
  const RunCosts& costs_;
  const LinkClock& clock_;
  const int64_t capacity_;
  const GreedyPolicy& policy_;
  const UseLists& uses_;                ///< by operations' first runs
  const std::vector<OpId>& producers_;  ///< by tensor
  std::vector<TensorState> states_;     ///< by tensor
  /// Resident tensors, large ones and small ones; may include tensors that have been evicted.
  std::array<Tensors, 2> residents_;
  int64_t held_ = 0;
  int64_t looks_ = 0;
};

/// Removes the pairs that share their input or output with `taken`.
void RemoveConflicts(const AliasPair& taken, std::vector<AliasPair>* pairs);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_DEVICE_STATE_HPP_
