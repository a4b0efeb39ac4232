#ifndef LAYRUB_PLACEMENT_SEARCH_DEVICE_STATE_HPP_
#define LAYRUB_PLACEMENT_SEARCH_DEVICE_STATE_HPP_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/short_list.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/search/frugal_forms.hpp"
#include "layrub/placement/search/greedy.hpp"
#include "layrub/placement/search/link_clock.hpp"
#include "layrub/placement/search/run_costs.hpp"

namespace layrub::placement::search {

/// How often EvictGreedily looks at tensors that might leave before it gives up.
inline constexpr int64_t kMostLooks = 30'000'000;

using Tensors = std::vector<TensorId>;
inline bool Has(const Tensors& tensors, TensorId t) {
  return std::find(tensors.begin(), tensors.end(), t) != tensors.end();
}

/// What a tensor is about while EvictGreedily goes through the operations.
struct TensorState {
  bool resident = false;  ///< on the device
  bool fetched = false;   ///< back from the host, and no run has used it yet
  bool copied = false;    ///< the host tier has its value
  bool covered = false;   ///< the run at hand writes an output over it
  bool lost = false;      ///< covered, and no copy: it has to be computed again
  int64_t size = 0;
  int64_t bytes = 0;      ///< of its range now; 0: none, or an output has taken it over
  size_t next = 0;        ///< index of its next use by an operation's first run
  int32_t pending = 0;    ///< operations that wait until all they read is there
  int32_t level = 0;      ///< the innermost of these
  RunId last = kNone;     ///< last run that used it
  RunId release = kNone;  ///< run after which it left
  ShortList<Gap> gaps{};
};

/// The tensors on a device with room for so many bytes, and which of them leaves first: the one
/// whose return costs the least for its bytes and for the time until it is needed.
class DeviceState {
 public:
  /// What it is given has to live as long.
  DeviceState(const Graph& graph, const Start& start, const RunCosts& costs, const LinkClock& clock,
              int64_t room, const GreedyPolicy& policy);

  TensorState& operator[](TensorId t) { return states_[t]; }
  const TensorState& operator[](TensorId t) const { return states_[t]; }
  int64_t held() const { return held_; }  ///< bytes
  bool gave_up() const { return looks_ >= kMostLooks; }

  /// The operation whose first run comes next, and how many operations wait for one another there.
  OpId current = 0;
  int32_t depth = 0;

  /// Seconds that a copy of `t` back takes alone.
  double LinkSeconds(TensorId t) const { return clock_.Seconds(graph_.tensors[t].bytes); }
  /// Whether `t` can be computed again; not before its operation has run.
  bool HasProducer(TensorId t) const { return policy_.rematerialize && producers_[t] != kNone; }
  /// Seconds until the operations, in their order, need `t` again; kNever: they do not.
  double UntilNeeded(TensorId t) const;

  void Enter(TensorId t);
  /// `release`: the last run so far.
  void Leave(TensorId t, RunId release);
  /// The run at hand writes an output over `t`.
  void Cover(TensorId t);
  /// The bytes of a pair's input become the output's.
  void TakeOver(const AliasPair& pair);

  /// Lets tensors leave until `need` more bytes are there, as far as possible. `operands`, those of
  /// the run at hand, stay, but outputs may come to lie on the inputs of `pairs`, which is added to
  /// `aliases`. `release`: the last run so far.
  void MakeRoom(int64_t need, RunId release, const Tensors& operands, std::vector<AliasPair> pairs,
                ShortList<AliasPair>* aliases);

 private:
  /// What leaves next: a tensor, or the input of a pair.
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
  const int64_t room_;
  const GreedyPolicy& policy_;
  const UseLists& uses_;                ///< by operations' first runs
  const std::vector<OpId>& producers_;  ///< by tensor
  std::vector<TensorState> states_;     ///< by tensor
  /// All that is resident, large tensors and small ones, and some that has left.
  std::array<Tensors, 2> residents_;
  int64_t held_ = 0;
  int64_t looks_ = 0;
};

/// Removes what cannot be beside `taken`: pairs with its input or its output.
void RemoveConflicts(const AliasPair& taken, std::vector<AliasPair>* pairs);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_DEVICE_STATE_HPP_
