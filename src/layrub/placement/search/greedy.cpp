#include "layrub/placement/search/greedy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "layrub/placement/ir/operands.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/search/link_clock.hpp"
#include "layrub/placement/search/run_costs.hpp"

namespace layrub::placement::search {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// A tensor below this part of the room leaves only where larger ones do not suffice.
constexpr int64_t kSmallPart = 2000;
/// Bounds of one pass: runs for each operation, recomputations within one another, and looks at
/// tensors that might leave.
constexpr size_t kMostRuns = 4;
constexpr int32_t kDeepest = 2000;
constexpr int64_t kMostLooks = 3'000'000;
/// Seconds, far below those of any operation, that order what is needed at once: the outermost of
/// the operations that wait for one another can wait longest.
constexpr double kAtOnce = 1e-12;
constexpr double kOneOut = 1e-6;
/// Even what comes back while nobody waits takes the link from others.
constexpr double kLeastPrice = 0.02;

class Runner {
 public:
  Runner(const Graph& graph, const Machine& machine, const Start& start, int64_t room,
         const GreedyPolicy& policy)
      : graph_(graph),
        costs_(graph, machine, start),
        room_(room),
        policy_(policy),
        originals_(start.decision.runs),
        uses_(start.uses),
        producers_(start.producers),
        clock_(machine, room),
        states_(graph.tensors.size()),
        visited_(graph.ops.size()) {
    for (size_t t = 0; t < states_.size(); ++t) states_[t].size = Aligned(graph.tensors[t].bytes);
  }

  /// False: given up.
  bool RunAll() {
    for (current_ = 0; current_ < static_cast<OpId>(graph_.ops.size()); ++current_) {
      if (!Execute(current_, false)) return false;
    }
    return true;
  }

  void Store(Decision* decision) {
    decision->runs = std::move(runs_);
    for (size_t t = 0; t < states_.size(); ++t) {
      decision->tensors[t].gaps = std::move(states_[t].gaps);
    }
  }

 private:
  struct State {
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
  /// What leaves next: a tensor, or the input of a pair.
  struct Victim {
    TensorId tensor = kNone;
    AliasPair pair{};
    double score = kNever;
  };
  using Tensors = std::vector<TensorId>;

  const Form& FormOf(OpId o) const { return costs_.FormOf(o); }
  RunId Count() const { return static_cast<RunId>(runs_.size()); }
  static bool Has(const Tensors& tensors, TensorId t) {
    return std::find(tensors.begin(), tensors.end(), t) != tensors.end();
  }
  double LinkSeconds(TensorId t) const { return clock_.Seconds(graph_.tensors[t].bytes); }
  Evicted EvictedOf(TensorId t) const {
    const State& state = states_[t];
    return {graph_.tensors[t].bytes, state.size, state.last, state.release, state.copied};
  }
  /// Whether `t` can be computed again; not before its operation has run.
  bool HasProducer(TensorId t) const { return policy_.rematerialize && producers_[t] != kNone; }

  /// Seconds until the operations, in their order, need `t` again; kNever: they do not.
  double UntilNeeded(TensorId t) const {
    const State& state = states_[t];
    if (state.pending > 0) return kAtOnce + kOneOut * (depth_ - state.level);
    if (state.next == uses_[t].size()) return graph_.tensors[t].keep ? costs_.Total() : kNever;
    return std::max(kAtOnce, costs_.StartOf(uses_[t][state.next].run) - costs_.StartOf(current_));
  }

  bool Execute(OpId o, bool again) {
    if (depth_ == kDeepest || runs_.size() > kMostRuns * graph_.ops.size()) return false;
    if (looks_ >= kMostLooks) return false;
    ++depth_;
    Tensors reads;
    for (const TensorId t : FormOf(o).reads) {
      if (costs_.Touches(FormOf(o), t, again) && !Has(reads, t)) reads.push_back(t);
    }
    const bool complete = BringAll(reads);
    if (complete) Emit(o, again, reads);
    --depth_;
    return complete;
  }

  /// What comes back may drive out what has just come; the second time nothing is computed again.
  bool BringAll(const Tensors& reads) {
    std::vector<int32_t> levels;
    for (const TensorId t : reads) {
      levels.push_back(states_[t].level);
      states_[t].level = depth_;
      ++states_[t].pending;
    }
    const auto complete = [&] {
      return std::all_of(reads.begin(), reads.end(),
                         [&](TensorId t) { return states_[t].resident; });
    };
    bool possible = true;
    for (const bool rather_copy : {false, true, true}) {
      for (const TensorId t : reads) {
        if (states_[t].resident || !possible) continue;
        possible = Bring(t, rather_copy);
      }
    }
    for (size_t i = 0; i < reads.size(); ++i) {
      --states_[reads[i]].pending;
      states_[reads[i]].level = levels[i];
    }
    return possible && complete();
  }

  bool Bring(TensorId t, bool rather_copy) {
    const double copy =
        states_[t].lost ? kNever : clock_.Wait(EvictedOf(t)) + policy_.link_price * LinkSeconds(t);
    if (HasProducer(t) && producers_[t] < current_ && (!rather_copy || copy == kNever)) {
      ++stamp_;
      if (copy == kNever || AgainSeconds(t, copy) < copy) return Execute(producers_[t], true);
    }
    if (copy == kNever) return false;
    clock_.Fetch(EvictedOf(t));
    MakeRoom(states_[t].size, {}, nullptr);
    states_[t].fetched = true;
    Enter(t);
    return true;
  }

  /// Seconds to compute `t` again from what is there, each operation counted once; where they reach
  /// `most`, no more than that is known.
  double AgainSeconds(TensorId t, double most) {
    const OpId o = producers_[t];
    if (visited_[o] == stamp_) return 0;
    visited_[o] = stamp_;
    double sum = costs_.Seconds(o);
    for (const TensorId read : FormOf(o).reads) {
      if (sum >= most) return sum;
      const State& state = states_[read];
      if (!costs_.Touches(FormOf(o), read, true) || state.resident) continue;
      const double copy = state.lost ? kNever : LinkSeconds(read);
      sum +=
          HasProducer(read) ? std::min(copy, AgainSeconds(read, std::min(copy, most - sum))) : copy;
    }
    return sum;
  }

  void Enter(TensorId t) {
    State& state = states_[t];
    state.resident = true;
    state.lost = false;
    state.bytes = state.size;
    held_ += state.bytes;
    residents_.push_back(t);
  }

  void Leave(TensorId t, RunId release) {
    State& state = states_[t];
    if (!state.fetched) state.release = release;
    held_ -= state.bytes;
    state.bytes = 0;
    state.resident = state.fetched = state.covered = false;
  }

  /// The lower, the better it is that `t` leaves.
  double Score(TensorId t, bool covered) {
    const State& state = states_[t];
    double cost = covered && !state.copied
                      ? kNever
                      : std::max(policy_.link_price, kLeastPrice) * LinkSeconds(t);
    if (HasProducer(t)) cost = std::min(cost, costs_.Chain(producers_[t]));
    const double until = UntilNeeded(t);
    const double time = policy_.haste == 1 ? until : std::pow(until, policy_.haste);
    return cost / (static_cast<double>(state.bytes) * time);
  }

  Victim FindVictim(int64_t above, const std::vector<AliasPair>& pairs) {
    Victim victim;
    std::erase_if(residents_, [&](TensorId t) { return !states_[t].resident; });
    looks_ += static_cast<int64_t>(residents_.size());
    for (const TensorId t : residents_) {
      if (states_[t].bytes <= above || Has(operands_, t)) continue;
      const double score = Score(t, false);
      if (score < victim.score) victim = {t, {}, score};
    }
    for (const AliasPair& pair : pairs) {
      if (states_[pair.input].bytes <= above) continue;
      const double score = Score(pair.input, true);
      if (score < victim.score) victim = {kNone, pair, score};
    }
    return victim;
  }

  /// Lets tensors leave until `need` more bytes are there, as far as possible; operands of the run
  /// at hand stay, but outputs may come to lie on the inputs of `pairs`, which is added to
  /// `aliases`.
  void MakeRoom(int64_t need, std::vector<AliasPair> pairs, ShortList<AliasPair>* aliases) {
    for (const int64_t above : {room_ / kSmallPart, int64_t{0}}) {
      while (held_ + need > room_ && looks_ < kMostLooks) {
        const Victim victim = FindVictim(above, pairs);
        if (victim.score == kNever) break;
        if (victim.tensor != kNone) {
          Leave(victim.tensor, Count() - 1);
          continue;
        }
        Cover(victim.pair.input);
        need -= states_[victim.pair.output].size;
        aliases->push_back(victim.pair);
        RemoveConflicts(victim.pair, &pairs);
      }
    }
  }

  /// The run at hand writes an output over `t`.
  void Cover(TensorId t) {
    states_[t].covered = true;
    states_[t].lost = !states_[t].copied;
  }

  static void RemoveConflicts(const AliasPair& taken, std::vector<AliasPair>* pairs) {
    std::erase_if(*pairs, [&](const AliasPair& pair) {
      return pair.input == taken.input || pair.output == taken.output;
    });
  }

  /// Pairs of the form whose output begins at this run and whose input is there and only read.
  std::vector<AliasPair> AliasPairs(const Form& form, const Tensors& outputs) const {
    std::vector<AliasPair> pairs;
    for (const AliasPair& pair : form.may_alias) {
      const State& input = states_[pair.input];
      const bool there = input.resident && !Has(form.writes, pair.input);
      if (Has(outputs, pair.output) && there && states_[pair.output].size <= input.bytes) {
        pairs.push_back(pair);
      }
    }
    return pairs;
  }

  void Emit(OpId o, bool again, const Tensors& reads) {
    const Form& form = FormOf(o);
    Tensors outputs;
    operands_ = reads;
    for (const TensorId t : form.writes) {
      if (!costs_.Touches(form, t, again) || Has(operands_, t)) continue;
      operands_.push_back(t);
      if (!states_[t].resident) outputs.push_back(t);
    }
    for (const TensorId t : operands_) states_[t].next += again ? 0 : 1;
    const ShortList<AliasPair> aliases = PlaceOutputs(o, outputs);
    Run run = originals_[o];
    run.recompute = again;
    for (const AliasPair& pair : aliases) {
      // A dropped input policies::RunInPlace finds; here the value stays in the host tier.
      if (states_[pair.input].covered && states_[pair.input].copied) run.aliases.push_back(pair);
    }
    EndGaps(outputs);
    for (const AliasPair& pair : aliases) {
      held_ -= states_[pair.output].bytes;
      states_[pair.output].bytes = std::exchange(states_[pair.input].bytes, 0);
    }
    clock_.Run(costs_.Seconds(o), held_ + costs_.Scratch(o));
    runs_.push_back(std::move(run));
    for (const TensorId t : operands_) {
      State& state = states_[t];
      if (!again && Has(form.writes, t)) state.copied = false;
      state.last = Count() - 1;
      if (state.covered || UntilNeeded(t) == kNever) Leave(t, state.last);
    }
    operands_.clear();
  }

  /// Makes room for outputs and workspace; returns which outputs lie on which inputs.
  ShortList<AliasPair> PlaceOutputs(OpId o, const Tensors& outputs) {
    std::vector<AliasPair> pairs = AliasPairs(FormOf(o), outputs);
    std::vector<AliasPair> ending, covering;
    for (const AliasPair& pair : pairs) {
      if (UntilNeeded(pair.input) == kNever) ending.push_back(pair);
    }
    ShortList<AliasPair> aliases = BestAliases(graph_, ending);
    for (const AliasPair& taken : aliases) {
      Cover(taken.input);
      RemoveConflicts(taken, &pairs);
    }
    for (const AliasPair& pair : pairs) {
      const State& input = states_[pair.input];
      const bool comes_back = input.copied || HasProducer(pair.input);
      if (comes_back && input.pending == 0 && !graph_.tensors[pair.input].keep &&
          UntilNeeded(pair.input) != kNever) {
        covering.push_back(pair);
      }
    }
    int64_t need = costs_.Scratch(o);
    for (const TensorId t : outputs) need += states_[t].size;
    for (const AliasPair& pair : aliases) need -= states_[pair.output].size;
    MakeRoom(need, covering, &aliases);
    return aliases;
  }

  /// The run at hand, whose operands are all known, ends the gaps of those that were away.
  void EndGaps(const Tensors& outputs) {
    for (const TensorId t : operands_) {
      State& state = states_[t];
      if (!state.fetched) continue;
      state.gaps.push_back({state.last, state.last, Count(), Count(), false});
      state.fetched = false;
      state.copied = true;
    }
    for (const TensorId t : outputs) {
      State& state = states_[t];
      if (state.last != kNone) {
        state.gaps.push_back({state.last, state.last, Count(), Count(), true});
      }
      Enter(t);
    }
  }

  const Graph& graph_;
  const RunCosts costs_;
  const int64_t room_;
  const GreedyPolicy& policy_;
  const std::vector<Run>& originals_;
  const UseLists& uses_;                ///< by operations' first runs
  const std::vector<OpId>& producers_;  ///< by tensor
  LinkClock clock_;
  std::vector<State> states_;     ///< by tensor
  std::vector<int64_t> visited_;  ///< by operation: the AgainSeconds that last counted it
  std::vector<Run> runs_;
  Tensors residents_;  ///< all that is resident, and some that has left
  Tensors operands_;   ///< of the run at hand
  OpId current_ = 0;   ///< the operation whose first run comes next
  int64_t held_ = 0;
  int64_t stamp_ = 0;
  int64_t looks_ = 0;
  int32_t depth_ = 0;
};

}  // namespace

std::optional<Decision> EvictGreedily(const Graph& graph, const Machine& machine,
                                      const Start& start, int64_t room,
                                      const GreedyPolicy& policy) {
  Runner runner(graph, machine, start, room, policy);
  if (!runner.RunAll()) return std::nullopt;
  Decision decision;
  decision.tensors.resize(graph.tensors.size());
  runner.Store(&decision);
  return decision;
}

}  // namespace layrub::placement::search
