#include "layrub/placement/strategies/tensor_cache.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "layrub/placement/strategies/conv_like.hpp"
#include "layrub/placement/strategies/loads.hpp"
#include "layrub/placement/uses.hpp"

namespace layrub {
namespace {

class Cache {
 public:
  Cache(const Graph& graph, int64_t capacity, const std::vector<bool>& movable,
        const Lifetimes& lives, Decision* decision)
      : graph_(graph),
        capacity_(capacity),
        decision_(*decision),
        uses_(FindUses(graph, decision->runs)),
        loads_(Loads(lives, decision->runs.size())),
        used_at_(decision->runs.size()),
        states_(graph.tensors.size()) {
    for (const Residence& residence : lives.residences) {
      const TensorId t = residence.tensor;
      if (!movable[t] || !CanMove(t)) continue;
      states_[t].held = residence.bytes;
      for (const Use& use : uses_[t]) used_at_[use.run].push_back(t);
    }
  }

  void Run() {
    for (RunId r = 0; r < static_cast<RunId>(used_at_.size()); ++r) {
      for (const TensorId t : used_at_[r]) {
        lru_.erase({states_[t].last_use, t});
        if (states_[t].away) Fetch(t, r);
      }
      while (loads_[r] - away_bytes_ > capacity_ && !lru_.empty()) Evict(lru_.begin()->second, r);
      for (const TensorId t : used_at_[r]) Touch(t, r);
      if (IsConvBackward(r)) FetchAhead(r);
    }
  }

 private:
  struct State {
    int64_t held = 0;  ///< bytes that the tensor holds while it is on the device
    size_t next = 0;   ///< index of the next of its uses
    RunId last_use = kNone;
    RunId release = kNone;  ///< the last run of the stay before it left
    bool away = false;
  };

  bool CanMove(TensorId t) const {
    const Tensor& tensor = graph_.tensors[t];
    return !tensor.persistent && !tensor.keep && tensor.bytes > 0 && !decision_.tensors[t].whole &&
           decision_.tensors[t].gaps.empty();
  }

  bool IsConvBackward(RunId r) const {
    const Op& op = graph_.ops[decision_.runs[r].op];
    return op.pass == Pass::kBackward && IsConvLike(graph_, op);
  }

  /// Makes room for run `r`, which does not use `t`.
  void Evict(TensorId t, RunId r) {
    State& state = states_[t];
    lru_.erase({state.last_use, t});
    state.release = r - 1;
    state.away = true;
    away_bytes_ += state.held;
  }

  /// Has `t` copied back before run `r`.
  void Fetch(TensorId t, RunId r) {
    State& state = states_[t];
    decision_.tensors[t].gaps.push_back(
        {state.last_use, state.release, r, uses_[t][state.next].run, false});
    away_bytes_ -= state.held;
    state.held = Aligned(graph_.tensors[t].bytes);
    state.away = false;
  }

  void Touch(TensorId t, RunId r) {
    State& state = states_[t];
    state.last_use = r;
    ++state.next;
    if (state.next < uses_[t].size()) lru_.insert({r, t});
  }

  /// Fetches what the runs up to the next backward of a conv-like operation use, in their order,
  /// as far as there is room from now until then. What was fetched does not leave before its use.
  void FetchAhead(RunId r) {
    int64_t load = loads_[r];
    for (RunId ahead = r + 1; ahead < static_cast<RunId>(used_at_.size()); ++ahead) {
      load = std::max(load, loads_[ahead]);
      for (const TensorId t : used_at_[ahead]) {
        if (!states_[t].away) continue;
        if (load - away_bytes_ > capacity_ - Aligned(graph_.tensors[t].bytes)) return;
        Fetch(t, r);
      }
      if (IsConvBackward(ahead)) return;
    }
  }

  const Graph& graph_;
  const int64_t capacity_;
  Decision& decision_;
  const UseLists uses_;
  /// By run; movable tensors count for as long as they would without the cache, first to last use.
  const std::vector<int64_t> loads_;
  std::vector<std::vector<TensorId>> used_at_;  ///< by run, movable tensors
  std::vector<State> states_;
  /// Movable tensors on the device that may leave, by last use; (run, tensor).
  std::set<std::pair<RunId, TensorId>> lru_;
  int64_t away_bytes_ = 0;  ///< of those that loads_ counts
};

}  // namespace

void CacheTensors(const Graph& graph, int64_t capacity, const std::vector<bool>& movable,
                  Decision* decision) {
  const Result<Lifetimes> lives = FindLifetimes(graph, *decision);
  if (lives.ok()) Cache(graph, capacity, movable, lives.value(), decision).Run();
}

}  // namespace layrub
