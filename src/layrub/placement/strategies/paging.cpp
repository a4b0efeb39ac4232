#include "layrub/placement/strategies/paging.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <vector>

#include "layrub/placement/aliases.hpp"
#include "layrub/placement/strategies/time_copies.hpp"
#include "layrub/placement/uses.hpp"

namespace layrub {
namespace {

/// A tensor below this part of the room is not worth a copy while larger ones can go.
constexpr int64_t kSmallPart = 2000;

/// Goes through a program run by run with the tensors that are on the device.
class Pager {
 public:
  Pager(const Graph& graph, const UseLists& uses, int64_t limit, int64_t headroom,
        const Decision& decision)
      : graph_(graph),
        limit_(limit),
        headroom_(headroom),
        decision_(decision),
        run_count_(static_cast<RunId>(decision.runs.size())),
        uses_(uses),
        touched_(decision.runs.size(), [this](const auto& add) { FindTouched(add); }),
        states_(graph.tensors.size()),
        load_(run_count_) {}

  /// Fills gaps and loads.
  void Sweep() {
    for (RunId r = 0; r < run_count_; ++r) {
      Begin(r);
      MakeRoom(r);
      load_[r] = resident_ + ScratchOf(r);
      End(r);
    }
  }

  void Store(Decision* decision) const {
    for (const Away& away : gaps_) decision->tensors[away.tensor].gaps.push_back(away.gap);
    for (TensorDecision& tensor : decision->tensors) {
      std::sort(tensor.gaps.begin(), tensor.gaps.end(),
                [](const Gap& a, const Gap& b) { return a.after < b.after; });
    }
  }

  /// By run, copies back just before they are needed.
  const std::vector<int64_t>& load() const { return load_; }
  int64_t peak() const { return load_.empty() ? 0 : *std::max_element(load_.begin(), load_.end()); }

 private:
  struct State {
    size_t next = 0;     ///< index of the next use
    size_t dropped = 0;  ///< index of the next dropped gap
    int64_t bytes = 0;   ///< of its range; 0: not on the device
    bool resident = false;
  };
  struct Away {
    TensorId tensor;
    Gap gap;
  };
  /// A tensor that waits for its use at `next`.
  struct Idle {
    RunId next;
    TensorId tensor;
    bool operator<(const Idle& other) const {
      return next != other.next ? next < other.next : tensor < other.tensor;
    }
  };

  template <typename Add>
  void FindTouched(const Add& add) const {
    for (TensorId t = 0; t < static_cast<TensorId>(uses_.size()); ++t) {
      if (graph_.tensors[t].persistent || !Materialised(graph_.tensors[t], uses_[t])) continue;
      for (const Use& use : uses_[t]) add(use.run, t);
    }
  }

  const Form& FormOf(RunId r) const {
    return graph_.ops[decision_.runs[r].op].forms[decision_.runs[r].form];
  }
  int64_t ScratchOf(RunId r) const {
    return ScratchBytes(graph_, FormOf(r), decision_.runs[r].scratch);
  }
  RunId NextUse(TensorId t) const {
    const State& state = states_[t];
    if (state.next < uses_[t].size()) return uses_[t][state.next].run;
    return graph_.tensors[t].keep ? run_count_ : kNone;
  }
  /// A copy would make computing it again pointless.
  bool DropsLater(TensorId t) const {
    return states_[t].dropped < decision_.tensors[t].gaps.size();
  }
  void Leave(TensorId t) {
    resident_ -= states_[t].bytes;
    states_[t].bytes = 0;
    states_[t].resident = false;
  }

  void Begin(RunId r) {
    for (const TensorId t : touched_[r]) {
      State& state = states_[t];
      ++state.next;
      if (state.resident) continue;
      state.resident = true;
      state.bytes = Aligned(graph_.tensors[t].bytes);
      resident_ += state.bytes;
    }
    for (const AliasPair& pair : decision_.runs[r].aliases) {
      resident_ -= states_[pair.output].bytes;
      states_[pair.output].bytes = states_[pair.input].bytes;
      states_[pair.input].bytes = 0;
    }
  }

  void MakeRoom(RunId r) {
    const int64_t room = limit_ - headroom_ - ScratchOf(r);
    for (auto* idle : {&large_, &small_}) {
      while (resident_ > room && !idle->empty()) {
        const Idle last = idle->top();
        idle->pop();
        const State& state = states_[last.tensor];
        if (!state.resident || NextUse(last.tensor) != last.next || last.next <= r) continue;
        const RunId after = uses_[last.tensor][state.next - 1].run;
        if (after == r || last.next == run_count_ || DropsLater(last.tensor)) continue;
        gaps_.push_back({last.tensor, {after, r - 1, last.next, last.next}});
        Leave(last.tensor);
      }
    }
  }

  void End(RunId r) {
    for (const TensorId t : touched_[r]) {
      State& state = states_[t];
      const ShortList<Gap>& gaps = decision_.tensors[t].gaps;
      const bool dropped = state.dropped < gaps.size() && gaps[state.dropped].after == r;
      if (dropped) ++state.dropped;
      const RunId next = NextUse(t);
      if (dropped || next == kNone) {
        Leave(t);
      } else if (next > r + 1) {
        (state.bytes > limit_ / kSmallPart ? large_ : small_).push({next, t});
      }
    }
  }

  const Graph& graph_;
  const int64_t limit_;
  const int64_t headroom_;
  const Decision& decision_;
  const RunId run_count_;
  const UseLists& uses_;
  Buckets<TensorId> touched_;  ///< by run
  std::vector<State> states_;  ///< by tensor
  std::vector<int64_t> load_;  ///< by run
  std::priority_queue<Idle> large_, small_;
  std::vector<Away> gaps_;
  int64_t resident_ = 0;
};

}  // namespace

void PageWithin(const Graph& graph, const Machine& machine, const UseLists& uses, int64_t bytes,
                int64_t headroom, Decision* decision) {
  Pager pager(graph, uses, bytes, headroom, *decision);
  pager.Sweep();
  pager.Store(decision);
  FetchEarly(graph, machine, bytes, pager.load(), decision);
}

int64_t PeakLoad(const Graph& graph, const Decision& decision) {
  const UseLists uses = FindUses(graph, decision.runs);
  Pager pager(graph, uses, std::numeric_limits<int64_t>::max(), 0, decision);
  pager.Sweep();
  return pager.peak();
}

}  // namespace layrub
