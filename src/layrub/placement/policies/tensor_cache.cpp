#include "layrub/placement/policies/tensor_cache.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/policies/conv_like.hpp"

namespace layrub::placement::policies {
namespace {

/// What a sweep over the runs knows about the program and does not change.
struct Facts {
  const Graph& graph;
  const UseLists& uses;
  const std::vector<int64_t>& loads;
  const Buckets<TensorId>& used_at;
  const std::vector<bool>& conv_like;
};

class Sweep {
 public:
  Sweep(const Facts& facts, int64_t capacity, const std::vector<int64_t>& held, Program* program)
      : facts_(facts), capacity_(capacity), program_(*program), states_(held.size()) {
    for (size_t t = 0; t < held.size(); ++t) states_[t].held = held[t];
  }

  void Run() {
    for (RunId r = 0; r < static_cast<RunId>(facts_.used_at.size()); ++r) {
      for (const TensorId t : facts_.used_at[r]) {
        lru_.erase({states_[t].last_use, t});
        if (states_[t].away) Fetch(t, r);
      }
      while (facts_.loads[r] - away_bytes_ > capacity_ && !lru_.empty())
        Evict(lru_.begin()->second, r);
      for (const TensorId t : facts_.used_at[r]) Touch(t, r);
      if (facts_.conv_like[r]) FetchAhead(r);
    }
  }

 private:
  struct State {
    int64_t held = 0;  ///< bytes that the tensor holds while it is on the device
    size_t next = 0;   ///< index of the next of its uses
    RunId last_use = kNone;
    RunId release = kNone;  ///< the last run before it was evicted
    bool away = false;
  };

  /// Evicts `t` before run `r`, which does not use it.
  void Evict(TensorId t, RunId r) {
    State& state = states_[t];
    lru_.erase({state.last_use, t});
    state.release = r - 1;
    state.away = true;
    away_bytes_ += state.held;
  }

  /// Prefetches `t` before run `r`.
  void Fetch(TensorId t, RunId r) {
    State& state = states_[t];
    program_.tensors[t].evictions.push_back(
        {state.last_use, state.release, r, facts_.uses[t][state.next].run, false});
    away_bytes_ -= state.held;
    state.held = Aligned(facts_.graph.tensors[t].bytes);
    state.away = false;
  }

  void Touch(TensorId t, RunId r) {
    State& state = states_[t];
    state.last_use = r;
    ++state.next;
    if (state.next < facts_.uses[t].size()) lru_.insert({r, t});
  }

  /// Prefetches what the runs up to the next backward of a conv-like operation use, in their order,
  /// as long as it fits from now until its use. What was prefetched is not evicted before its use.
  void FetchAhead(RunId r) {
    int64_t load = facts_.loads[r];
    for (RunId ahead = r + 1; ahead < static_cast<RunId>(facts_.used_at.size()); ++ahead) {
      load = std::max(load, facts_.loads[ahead]);
      for (const TensorId t : facts_.used_at[ahead]) {
        if (!states_[t].away) continue;
        if (load - away_bytes_ > capacity_ - Aligned(facts_.graph.tensors[t].bytes)) return;
        Fetch(t, r);
      }
      if (facts_.conv_like[ahead]) return;
    }
  }

  const Facts facts_;
  const int64_t capacity_;
  Program& program_;
  std::vector<State> states_;
  /// Movable tensors on the device that may leave, by last use; (run, tensor).
  std::set<std::pair<RunId, TensorId>> lru_;
  int64_t away_bytes_ = 0;  ///< evicted bytes that Facts::loads counts
};

}  // namespace

TensorCache::TensorCache(const Graph& graph, const std::vector<bool>& movable, UseLists uses,
                         Program program)
    : graph_(graph),
      program_(std::move(program)),
      uses_(std::move(uses)),
      held_(graph.tensors.size()) {
  const Result<Lifetimes> lives = FindLifetimes(graph, program_);
  if (!lives.ok()) return;
  loads_ = cost::LiveBytes(lives.value(), program_.runs.size());
  const auto can_move = [&](TensorId t) {
    const Tensor& tensor = graph.tensors[t];
    return movable[t] && !tensor.is_state() && !tensor.keep && tensor.bytes > 0 &&
           !program_.tensors[t].whole && program_.tensors[t].evictions.empty();
  };
  for (const LiveInterval& interval : lives.value().intervals) {
    if (can_move(interval.tensor)) held_[interval.tensor] = interval.bytes;
  }
  used_at_ = Buckets<TensorId>(program_.runs.size(), [this](const auto& add) {
    for (size_t t = 0; t < held_.size(); ++t) {
      if (held_[t] == 0) continue;
      for (const Use& use : uses_[t]) add(use.run, static_cast<TensorId>(t));
    }
  });
  for (const Run& run : program_.runs) {
    const Op& op = graph.ops[run.op];
    conv_like_.push_back(op.pass == Pass::kBackward && IsConvLike(graph, op));
  }
}

Program TensorCache::Within(int64_t capacity) const {
  Program program = program_;
  Sweep({graph_, uses_, loads_, used_at_, conv_like_}, capacity, held_, &program).Run();
  return program;
}

}  // namespace layrub::placement::policies
