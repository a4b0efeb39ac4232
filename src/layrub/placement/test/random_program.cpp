#include "layrub/placement/test/random_program.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/recompute.hpp"

namespace layrub::testing {

using namespace placement;  // NOLINT(google-build-using-namespace): tests look inside
namespace {

/// In units of kAlignment. In less memory than this, the evicted tensors of a random graph rarely
/// fit.
constexpr int kMostHost = 30;

class Dice {
 public:
  Dice(const Graph& graph, uint64_t seed, bool reckless)
      : graph_(graph), random_(seed), reckless_(reckless) {}

  Program Throw() {
    program_.tensors.resize(graph_.tensors.size());
    for (TensorProgram& choice : program_.tensors) choice.whole = Chance(5);
    for (size_t op = 0; op < graph_.ops.size(); ++op) ChooseVariant(static_cast<OpId>(op));
    ChooseRecomputations();
    if (reckless_ && Chance(30)) RunAnythingAgain();
    uses_ = FindUses(graph_, program_.runs);
    for (size_t id = 0; id < graph_.tensors.size(); ++id)
      ChooseIntervals(static_cast<TensorId>(id));
    for (size_t run = 0; run < program_.runs.size(); ++run) ChooseAliases(static_cast<RunId>(run));
    return program_;
  }

 private:
  int Pick(int begin, int end) {
    return std::uniform_int_distribution<int>(begin, end - 1)(random_);
  }
  bool Chance(int percent) { return Pick(0, 100) < percent; }
  const Variant& VariantOf(const Run& run) const {
    return graph_.ops[run.op].variants[run.variant];
  }
  const ShortList<Eviction>& EvictionsOf(TensorId id) const {
    return program_.tensors[id].evictions;
  }

  void ChooseVariant(OpId op) {
    Run choice;
    choice.op = op;
    choice.variant = Pick(0, static_cast<int>(graph_.ops[op].variants.size()));
    const Variant& variant = VariantOf(choice);
    if (!variant.algorithms.empty())
      choice.algorithm = Pick(0, static_cast<int>(variant.algorithms.size()));
    program_.runs.push_back(choice);
  }

  /// Drops tensors at any time, any number of times, and restores them when they are read.
  void ChooseRecomputations() {
    const std::vector<Run> originals = std::exchange(program_.runs, {});
    const std::vector<OpId> producers = policies::ProducersOfUnkept(graph_, originals);
    std::vector<bool> away(graph_.tensors.size());
    const int percent = Pick(0, 3) * 15;
    for (const Run& run : originals) {
      const size_t before = program_.runs.size();
      const std::vector<bool> was_away = away;
      policies::AppendReplay(graph_, originals, producers, VariantOf(run).reads, &away,
                             &program_.runs);
      for (size_t again = before; again < program_.runs.size(); ++again) {
        for (TensorId id : VariantOf(program_.runs[again]).writes) {
          if (was_away[id]) must_drop_.insert({id, static_cast<RunId>(again)});
        }
      }
      program_.runs.push_back(run);
      for (size_t id = 0; id < away.size(); ++id) {
        const bool written = producers[id] != kNone && producers[id] <= run.op;
        if (written && !program_.tensors[id].whole && Chance(percent)) away[id] = true;
      }
    }
  }

  void RunAnythingAgain() {
    Run run = program_.runs[Pick(0, static_cast<int>(program_.runs.size()))];
    run.recompute = true;
    const int place = Pick(0, static_cast<int>(program_.runs.size()) + 1);
    program_.runs.insert(program_.runs.begin() + place, run);
    must_drop_.clear();
  }

  void ChooseIntervals(TensorId id) {
    const Tensor& tensor = graph_.tensors[id];
    TensorProgram& choice = program_.tensors[id];
    if (tensor.is_state()) {
      choice.whole = false;
      choice.home = Chance(50)                         ? StateHome::kDevice
                    : tensor.host_access && Chance(60) ? StateHome::kInPlace
                                                       : StateHome::kAway;
      if (choice.home == StateHome::kAway && !uses_[id].empty())
        LeaveHome(uses_[id], &choice.evictions);
      return;
    }
    if (!Materialised(tensor, uses_[id])) {
      choice.whole = false;
      return;
    }
    if (choice.whole && !reckless_) return;
    ChooseEvictions(id);
    if (tensor.keep && !choice.whole && Chance(50))
      choice.evictions.push_back(ToTheEnd(uses_[id].back(), program_.runs));
  }

  /// Evicts state at home off the device: before its first use, after its last one, and perhaps in
  /// between. It is always copied, never dropped.
  void LeaveHome(std::span<const Use> uses, ShortList<Eviction>* evictions) {
    Eviction first = FromTheStart(uses.front()), last = ToTheEnd(uses.back(), program_.runs);
    first.prefetch = Pick(0, first.before + 1);
    last.release = Pick(last.after, last.before);
    evictions->push_back(first);
    for (size_t i = 1; i < uses.size(); ++i) {
      const RunId after = uses[i - 1].run, before = uses[i].run;
      const RunId release = Pick(after, before);
      if (Chance(40)) evictions->push_back({after, release, Pick(release + 1, before + 1), before});
    }
    evictions->push_back(last);
  }

  void ChooseEvictions(TensorId id) {
    const Tensor& tensor = graph_.tensors[id];
    TensorProgram& choice = program_.tensors[id];
    for (size_t i = 1; i < uses_[id].size(); ++i) {
      const RunId after = uses_[id][i - 1].run, before = uses_[id][i].run;
      const bool dropped = !uses_[id][i].reads || (reckless_ && Chance(1));
      if (dropped && tensor.keep && !reckless_ && LiesBetweenPasses(after, before)) continue;
      // The copy of a tensor that was just recomputed may be older, and is all that is needed.
      if (!dropped && must_drop_.count({id, after}) > 0) continue;
      if (must_drop_.count({id, before}) == 0 && !Chance(40)) continue;
      const RunId release = Pick(after, before);
      Eviction eviction{after, release, Pick(release + 1, before + 1), before, dropped};
      if (!dropped && !tensor.keep && tensor.bytes > kAlignment && Chance(30)) {
        const auto most = static_cast<int>((tensor.bytes - 1) / kAlignment);
        eviction.stays = kAlignment * Pick(1, most + 1);
      }
      choice.evictions.push_back(eviction);
    }
  }

  /// Whether a pass ends at run `after` or later, and before run `before`. Recomputations belong to
  /// the pass of the operation that follows.
  bool LiesBetweenPasses(RunId after, RunId before) const {
    const auto next = [this](RunId r) {
      while (program_.runs[r].recompute) ++r;
      return graph_.ops[program_.runs[r].op].pass;
    };
    return next(after) != next(before);
  }

  /// Whether the bytes of `id` have no value when run `run` begins.
  bool BeginsAt(RunId run, TensorId id) const {
    if (uses_[id].front().run == run) return true;
    return std::any_of(
        EvictionsOf(id).begin(), EvictionsOf(id).end(), [run](const Eviction& eviction) {
          return eviction.dropped && eviction.before == run && eviction.prefetch == run;
        });
  }

  /// Whether run `run` is the last use of the value of `id`, and nothing else holds it or its bytes
  /// until the end.
  bool EndsAt(RunId run, TensorId id) const {
    if (uses_[id].back().run == run) return !graph_.tensors[id].keep;
    return std::any_of(
        EvictionsOf(id).begin(), EvictionsOf(id).end(), [run](const Eviction& eviction) {
          return eviction.dropped && eviction.after == run && eviction.release == run;
        });
  }

  bool IsSafe(RunId run, const AliasPair& pair) const {
    const auto plain = [this](TensorId id) {
      return !graph_.tensors[id].is_state() && !program_.tensors[id].whole &&
             Materialised(graph_.tensors[id], uses_[id]);
    };
    return plain(pair.input) && plain(pair.output) && BeginsAt(run, pair.output) &&
           EndsAt(run, pair.input);
  }

  void ChooseAliases(RunId run) {
    std::set<TensorId> taken;
    Run& choice = program_.runs[run];
    for (const AliasPair& pair : VariantOf(choice).may_alias) {
      const bool wanted = IsSafe(run, pair) ? Chance(70) : reckless_ && Chance(10);
      if (!wanted || taken.count(pair.input) > 0 || taken.count(pair.output) > 0) continue;
      taken.insert({pair.input, pair.output});
      choice.aliases.push_back(pair);
    }
  }

  const Graph& graph_;
  std::mt19937_64 random_;
  bool reckless_;
  UseLists uses_;
  std::set<std::pair<TensorId, RunId>> must_drop_;  // the tensors that this recomputation restores
  Program program_;
};

}  // namespace

Program RandomProgram(const Graph& graph, uint64_t seed, bool reckless) {
  return Dice(graph, seed, reckless).Throw();
}

pack::Options RandomPacking(uint64_t seed) {
  std::mt19937_64 random(seed);
  pack::Options options;
  if (random() % 2 == 0)
    options.host_bytes = kAlignment * static_cast<int64_t>(random() % kMostHost);
  return options;
}

pack::Options IntoPeak(const Graph& graph, const Program& program, pack::Options options) {
  const Result<Lifetimes> lives = FindLifetimes(graph, program);
  if (lives.ok()) options.enough_bytes = cost::PeakLiveBytes(lives.value(), program.runs.size());
  options.may_move = true;
  return options;
}

int64_t MovesIn(const Plan& plan) {
  return std::count_if(plan.steps.begin(), plan.steps.end(),
                       [](const Step& step) { return IsMove(step); });
}

}  // namespace layrub::testing
