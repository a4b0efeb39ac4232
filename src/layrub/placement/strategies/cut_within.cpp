#include "layrub/placement/strategies/cut_within.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "layrub/placement/strategies/paging.hpp"
#include "layrub/placement/strategies/pieces.hpp"
#include "layrub/placement/strategies/recompute.hpp"
#include "layrub/placement/uses.hpp"
#include "layrub/timeline.hpp"

namespace layrub {
namespace {

/// A forward operation whose outputs backward needs: their bytes, and what making them again takes.
struct Stash {
  OpId op = kNone;
  double bytes = 0;
  double seconds = 0;
};

/// Everything about a graph in chosen forms that does not depend on what is computed again.
class Cutter {
 public:
  Cutter(const Graph& graph, const Machine& machine, const Start& start, int64_t room,
         const Cuts& cuts)
      : graph_(graph),
        machine_(machine),
        room_(room),
        cuts_(cuts),
        base_(start.decision),
        uses_(start.uses),
        producers_(start.producers),
        needed_(graph.tensors.size()) {
    for (const Run& run : base_.runs) {
      if (graph.ops[run.op].pass != Pass::kBackward) continue;
      for (const TensorId t : FormOf(run).reads) needed_[t] = true;
    }
    FindCrossing();
    FindStashes();
  }

  Decision Build() const {
    std::vector<bool> dropped(graph_.tensors.size());
    for (size_t t = 0; t < dropped.size(); ++t) dropped[t] = !needed_[t] && CanDrop(t);
    const size_t count = Count();
    for (size_t i = 0; i < count; ++i) {
      for (const TensorId t : FormOf(base_.runs[stashes_[i].op]).writes) dropped[t] = CanDrop(t);
    }
    Decision decision = base_;
    const UseLists uses = RecomputeOnce(graph_, dropped, &decision);
    RunInPlace(graph_, uses, InPlace::kAnyRole, &decision);
    const auto headroom = static_cast<int64_t>(cuts_.headroom * static_cast<double>(room_));
    PageWithin(graph_, machine_, uses, room_, headroom, &decision);
    return decision;
  }

 private:
  const Form& FormOf(const Run& run) const { return graph_.ops[run.op].forms[run.form]; }
  bool CanDrop(TensorId t) const {
    return producers_[t] != kNone && !crossing_[t] && !graph_.tensors[t].keep;
  }

  /// How many stashes, the cheapest first, are computed again.
  size_t Count() const {
    if (cuts_.again < 0) return 0;
    const size_t best = BestCount();
    const auto rest = static_cast<double>(stashes_.size() - best);
    return best + static_cast<size_t>(cuts_.again * rest);
  }

  /// The best number if all else that the room does not hold moves, and nothing but the link and
  /// the operations takes time.
  size_t BestCount() const {
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    double excess = held_ - static_cast<double>(room_);
    double again = 0;
    for (size_t count = 0;; ++count) {
      const double moved = std::max(excess, 0.0);
      const double seconds = std::max(forward_, moved / machine_.link_down) +
                             std::max(backward_ + again, moved / machine_.link_up);
      if (seconds < least) {
        least = seconds;
        best = count;
      }
      if (count == stashes_.size() || excess <= 0) return best;
      excess -= stashes_[count].bytes;
      again += stashes_[count].seconds;
    }
  }

  /// Marks the tensors that are read in a later segment than the one that makes them.
  void FindCrossing() {
    const OpId end = FirstOp(graph_, Pass::kBackward);
    std::vector<OpId> last(uses_.size(), kNone);            // by tensor: its last use in forward
    std::vector<int64_t> made(end + 1), crossing(end + 1);  // bytes by forward operation
    for (size_t t = 0; t < uses_.size(); ++t) {
      if (graph_.tensors[t].persistent || !Materialised(graph_.tensors[t], uses_[t])) continue;
      for (const Use& use : uses_[t]) {
        if (use.run < end) last[t] = use.run;
      }
      if (last[t] == kNone) continue;
      made[uses_[t].front().run] += graph_.tensors[t].bytes;
      crossing[uses_[t].front().run] += graph_.tensors[t].bytes;
      crossing[last[t]] -= graph_.tensors[t].bytes;
    }
    std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
    const std::vector<int32_t> segment = Segments(made, crossing);
    crossing_.assign(uses_.size(), false);
    for (size_t t = 0; t < uses_.size(); ++t) {
      crossing_[t] = last[t] != kNone && segment[uses_[t].front().run] != segment[last[t]];
    }
  }

  /// By forward operation, the number of its segment: one ends in the second half of the bytes that
  /// `segment` gives it, where the fewest bytes cross to the next.
  std::vector<int32_t> Segments(const std::vector<int64_t>& made,
                                const std::vector<int64_t>& crossing) const {
    const double most = cuts_.segment * static_cast<double>(room_);
    std::vector<int32_t> segments(made.size());
    double bytes = 0;
    size_t from = 0;
    for (size_t o = 0; o < made.size(); ++o) {
      bytes += static_cast<double>(made[o]);
      if (bytes < most || o == from) continue;
      size_t cut = o;
      for (size_t c = from + (o - from) / 2; c <= o; ++c) {
        if (crossing[c] <= crossing[cut]) cut = c;
      }
      if (cut + 1 < segments.size()) ++segments[cut + 1];
      from = cut + 1;
      bytes = 0;
      for (size_t c = from; c <= o; ++c) bytes += static_cast<double>(made[c]);
    }
    std::partial_sum(segments.begin(), segments.end(), segments.begin());
    return segments;
  }

  void FindStashes() {
    std::vector<double> chain(graph_.ops.size());  // seconds of an operation and of all it needs
    std::vector<bool> counted(graph_.tensors.size());
    for (const Run& run : base_.runs) {
      const Op& op = graph_.ops[run.op];
      const double seconds = OpSeconds(op, run.form, run.scratch, machine_);
      if (op.pass != Pass::kForward) {
        if (op.pass == Pass::kBackward) backward_ += seconds;
        continue;
      }
      forward_ += seconds;
      Stash stash{run.op, 0, seconds};
      for (const TensorId t : FormOf(run).reads) {
        if (!needed_[t] && producers_[t] != kNone) stash.seconds += chain[producers_[t]];
      }
      chain[run.op] = stash.seconds;
      bool again = false;
      for (const TensorId t : FormOf(run).writes) {
        if (!needed_[t] || counted[t] || graph_.tensors[t].persistent) continue;
        counted[t] = true;
        again = again || (producers_[t] == run.op && CanDrop(t));
        stash.bytes += static_cast<double>(graph_.tensors[t].bytes);
      }
      held_ += stash.bytes;
      if (again && stash.bytes > 0) stashes_.push_back(stash);
    }
    std::stable_sort(stashes_.begin(), stashes_.end(), [](const Stash& a, const Stash& b) {
      return a.seconds * b.bytes < b.seconds * a.bytes;
    });
  }

  const Graph& graph_;
  const Machine& machine_;
  const int64_t room_;
  const Cuts& cuts_;
  const Decision& base_;
  const UseLists& uses_;
  const std::vector<OpId>& producers_;
  std::vector<bool> needed_;    ///< by backward
  std::vector<bool> crossing_;  ///< tensors that leave their segment
  std::vector<Stash> stashes_;
  double held_ = 0;  ///< bytes that backward needs of forward
  double forward_ = 0;
  double backward_ = 0;
};

}  // namespace

Decision CutWithin(const Graph& graph, const Machine& machine, const Start& start, int64_t room,
                   const Cuts& cuts) {
  return Cutter(graph, machine, start, room, cuts).Build();
}

}  // namespace layrub
