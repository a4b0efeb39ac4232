#include "layrub/placement/strategies/run_within.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "layrub/placement/aliases.hpp"
#include "layrub/placement/buckets.hpp"
#include "layrub/placement/strategies/link_clock.hpp"
#include "layrub/placement/strategies/run_costs.hpp"
#include "layrub/placement/uses.hpp"

namespace layrub {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// A tensor below this part of the room leaves only where larger ones do not suffice.
constexpr int64_t kSmallPart = 2000;
/// Bounds of one pass: runs for each operation, recomputations within one another, and looks at
/// tensors that might leave.
constexpr size_t kMostRuns = 4;
constexpr int32_t kDeepest = 2000;
constexpr int64_t kMostLooks = 3'000'000;
/// Where more tensors than that are waited for, nobody asks which of them would find no room.
constexpr size_t kMostWaiting = 40;
/// Seconds, far below those of any operation, that order what is needed at once: the outermost of
/// the operations that wait for one another can wait longest.
constexpr double kAtOnce = 1e-12;
constexpr double kOneOut = 1e-6;
/// Even what comes back while nobody waits takes the link from others.
constexpr double kLeastPrice = 0.02;

class Runner {
 public:
  Runner(const Graph& graph, const Machine& machine, const Thrift& thrift, const Start& start,
         const std::vector<Need>& expected)
      : graph_(graph),
        costs_(graph, machine, start),
        thrift_(thrift),
        originals_(start.decision.runs),
        uses_(start.uses),
        producers_(start.producers),
        expected_(graph.tensors.size(),
                  [&expected](const auto& add) {
                    for (const Need& need : expected) add(need.tensor, need.op);
                  }),
        clock_(machine, thrift.room, thrift.saves_count),
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

  std::vector<Need> TakeNeeds() { return std::move(needs_); }

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
    size_t expected = 0;    ///< index of the next need that is expected
    OpId noted = kNone;     ///< operation of its last entry in needs_
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

  /// Seconds until the operations, in their order, need `t` again or one that runs again is
  /// expected to; kNever: they do not.
  double UntilNeeded(TensorId t) {
    State& state = states_[t];
    if (state.pending > 0) return kAtOnce + kOneOut * (depth_ - state.level);
    double until = graph_.tensors[t].keep ? costs_.Total() : kNever;
    const auto need = [&](OpId o) {
      until = std::min(until, std::max(kAtOnce, costs_.StartOf(o) - costs_.StartOf(current_)));
    };
    if (state.next < uses_[t].size()) need(uses_[t][state.next].run);
    PassExpected(t, current_);
    if (state.expected < expected_[t].size()) need(expected_[t][state.expected]);
    return until;
  }

  /// Forgets what is expected before operation `until`.
  void PassExpected(TensorId t, OpId until) {
    size_t& next = states_[t].expected;
    while (next < expected_[t].size() && expected_[t][next] < until) ++next;
  }

  bool Execute(OpId o, bool again) {
    if (depth_ == kDeepest || runs_.size() > kMostRuns * graph_.ops.size()) return false;
    if (looks_ >= kMostLooks) return false;
    ++depth_;
    Tensors reads;
    for (const TensorId t : FormOf(o).reads) {
      if (costs_.Touches(FormOf(o), t, again) && !Has(reads, t)) reads.push_back(t);
    }
    if (again) Note(reads);
    const bool complete = BringAll(reads);
    if (complete) Emit(o, again, reads);
    --depth_;
    return complete;
  }

  void Note(const Tensors& needed) {
    for (const TensorId t : needed) {
      if (std::exchange(states_[t].noted, current_) != current_) needs_.push_back({t, current_});
    }
  }

  /// What comes back may drive out what has just come; the second time nothing is computed again.
  bool BringAll(const Tensors& reads) {
    std::vector<int32_t> levels;
    for (const TensorId t : reads) {
      levels.push_back(states_[t].level);
      states_[t].level = depth_;
      ++states_[t].pending;
      waiting_.push_back(t);
      waiting_bytes_ += states_[t].size;
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
      waiting_bytes_ -= states_[reads[i]].size;
    }
    waiting_.resize(waiting_.size() - reads.size());
    return possible && complete();
  }

  bool Bring(TensorId t, bool rather_copy) {
    double copy = kNever;
    if (!states_[t].lost) {
      copy = clock_.Wait(EvictedOf(t)) + thrift_.price * LinkSeconds(t);
    }
    if (producers_[t] != kNone && producers_[t] < current_ && (!rather_copy || copy == kNever)) {
      ++stamp_;
      if (copy == kNever || AgainSeconds(t, copy) < copy) return Execute(producers_[t], true);
    }
    if (copy == kNever) return false;
    Fetch(t);
    return true;
  }

  /// Seconds to move away and back what operations that wait have already, where that finds no room
  /// beside `o`, run again.
  double DisplacedSeconds(OpId o) const {
    if (waiting_bytes_ + costs_.largest() <= thrift_.room || waiting_.size() > kMostWaiting)
      return 0;
    auto [operands, bytes] = costs_.WorkingSetOf(o);
    int64_t smallest = 0;
    for (const TensorId t : waiting_) {
      const State& state = states_[t];
      if (!state.resident || Has(operands, t)) continue;
      operands.push_back(t);
      bytes += state.bytes;
      smallest = smallest == 0 ? state.size : std::min(smallest, state.size);
    }
    const int64_t lacking = bytes - thrift_.room;
    return lacking <= 0 || smallest == 0 ? 0 : 2 * clock_.Seconds(std::max(lacking, smallest));
  }

  /// What has to come back soon anyway costs little more now.
  double PartToCount(TensorId t) {
    if (thrift_.foresight == 0) return 1;
    return 1 - std::exp(-UntilNeeded(t) / (thrift_.foresight * costs_.Total()));
  }

  /// Seconds to compute `t` again from what is there, each operation counted once; where they reach
  /// `most`, no more than that is known.
  double AgainSeconds(TensorId t, double most) {
    const OpId o = producers_[t];
    if (visited_[o] == stamp_) return 0;
    visited_[o] = stamp_;
    double sum = costs_.Seconds(o) + DisplacedSeconds(o);
    for (const TensorId read : FormOf(o).reads) {
      if (sum >= most) return sum;
      const State& state = states_[read];
      if (!costs_.Touches(FormOf(o), read, true) || state.resident) continue;
      const double copy = state.lost ? kNever : LinkSeconds(read);
      const double back = producers_[read] == kNone
                              ? copy
                              : std::min(copy, AgainSeconds(read, std::min(copy, most - sum)));
      sum += back * PartToCount(read);
    }
    return sum;
  }

  void Fetch(TensorId t) {
    clock_.Fetch(EvictedOf(t));
    MakeRoom(states_[t].size, {}, nullptr);
    states_[t].fetched = true;
    Enter(t);
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
    const double copy = std::max(thrift_.price, kLeastPrice) * LinkSeconds(t);
    double cost = covered && !state.copied ? kNever : copy;
    if (producers_[t] != kNone) cost = std::min(cost, costs_.Chain(producers_[t]));
    const double until = UntilNeeded(t);
    const double time = thrift_.haste == 1 ? until : std::pow(until, thrift_.haste);
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
    for (const int64_t above : {thrift_.room / kSmallPart, int64_t{0}}) {
      while (held_ + need > thrift_.room - thrift_.headroom && looks_ < kMostLooks) {
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
    if (again) {
      for (const TensorId t : reads) PassExpected(t, current_ + 1);
    }
    const ShortList<AliasPair> aliases = PlaceOutputs(o, outputs);
    Run run = originals_[o];
    run.recompute = again;
    for (const AliasPair& pair : aliases) {
      // A dropped input RunInPlace finds; here the value stays in the host tier.
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
      const bool comes_back = input.copied || producers_[pair.input] != kNone;
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
  const Thrift thrift_;
  const std::vector<Run>& originals_;
  const UseLists& uses_;                ///< by operations' first runs
  const std::vector<OpId>& producers_;  ///< by tensor
  const Buckets<OpId> expected_;        ///< by tensor: the operations of the needs
  std::vector<Need> needs_;
  LinkClock clock_;
  std::vector<State> states_;     ///< by tensor
  std::vector<int64_t> visited_;  ///< by operation: the AgainSeconds that last counted it
  std::vector<Run> runs_;
  Tensors residents_;  ///< all that is resident, and some that has left
  Tensors waiting_;    ///< what the operations at work, outermost first, wait for or have
  int64_t waiting_bytes_ = 0;
  Tensors operands_;  ///< of the run at hand
  OpId current_ = 0;  ///< the operation whose first run comes next
  int64_t held_ = 0;
  int64_t stamp_ = 0;
  int64_t looks_ = 0;
  int32_t depth_ = 0;
};

}  // namespace

std::optional<Frugal> RunWithin(const Graph& graph, const Machine& machine, const Start& start,
                                const Thrift& thrift, const std::vector<Need>& expected) {
  Runner runner(graph, machine, thrift, start, expected);
  if (!runner.RunAll()) return std::nullopt;
  Frugal found{{}, runner.TakeNeeds()};
  found.decision.tensors.resize(graph.tensors.size());
  runner.Store(&found.decision);
  return found;
}

}  // namespace layrub
